//! gRPC: `ratelimiter.v1.RateLimiter`, health and reflection.

mod codec;
mod convert;
mod encode;
mod health;
mod method;
mod reflection;
mod reply;
mod status;
mod stream;
mod unary;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;
use tonic_reflection::server::Builder;
use tower_service::Service as _;

pub(crate) use health::{Health, follow};

use crate::face::Refused;
use crate::proto::DESCRIPTORS;
use crate::service::{Face as Door, Service};
use crate::shutdown::Shutdown;
use method::{Allow, Check};
use reflection::Questions;
use reply::{Reply, ReplyBody};

/// An answer to come.
type Answering = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

/// A service that is rarely called, behind a pointer.
type Rare = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// The gRPC face. Cheap to clone: one for each connection.
pub(crate) struct Grpc(Arc<Face>);

/// Each connection has a count of its own, so that calls on two cores do not pass one to and fro.
impl Clone for Grpc {
    fn clone(&self) -> Grpc {
        Grpc(Arc::new(Face::clone(&self.0)))
    }
}

#[derive(Clone)]
struct Face {
    limiter: Limiter,
    health: HealthServer<HealthService>,
    reflection: Option<Rare>,
    reflection_alpha: Option<Rare>,
}

impl Grpc {
    /// A face on this service, with the health that `health` reports.
    pub(crate) fn new(service: Arc<Service>, health: &Health, shutdown: Shutdown) -> Grpc {
        // The descriptors are part of the build; if they were broken, a test would know, and the
        // service would only lack reflection.
        let reflection = descriptors().build_v1().ok().map(|built| rare(built, &shutdown));
        let alpha = descriptors().build_v1alpha().ok().map(|built| rare(built, &shutdown));
        Grpc(Arc::new(Face {
            limiter: Limiter { service, shutdown },
            health: health.server(),
            reflection,
            reflection_alpha: alpha,
        }))
    }
}

/// What reflection tells of.
fn descriptors() -> Builder<'static> {
    Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Puts a service behind a pointer, and ends what it is asked with the word to stop.
fn rare<S>(service: S, shutdown: &Shutdown) -> Rare
where
    S: tower_service::Service<
            Request<Questions>,
            Response = Response<Body>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + Sync
        + 'static,
{
    let shutdown = shutdown.clone();
    Arc::new(move |request| {
        let request = request.map(|body| Questions::new(body, shutdown.clone()));
        let answering = service.clone().call(request);
        Box::pin(async { Ok(answering.await?.map(ReplyBody::Tonic)) })
    })
}

impl hyper::service::Service<Request<Incoming>> for Grpc {
    type Response = Reply;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let face = Arc::clone(&self.0);
        match request.uri().path() {
            "/ratelimiter.v1.RateLimiter/Allow" => {
                Box::pin(async move { Ok(method::answer::<Allow>(&face.limiter, request).await) })
            }
            "/ratelimiter.v1.RateLimiter/Check" => {
                Box::pin(async move { Ok(method::answer::<Check>(&face.limiter, request).await) })
            }
            "/ratelimiter.v1.RateLimiter/Stream" => {
                Box::pin(async move { Ok(stream::answer(&face.limiter, request).await) })
            }
            _ => face.beside(request),
        }
    }
}

impl Face {
    /// What is served beside the limiter.
    fn beside(&self, request: Request<Incoming>) -> Answering {
        let name = request.uri().path().split('/').nth(1).unwrap_or_default();
        let reflection = match name {
            HealthServer::<HealthService>::NAME => {
                let answering = self.health.clone().call(request);
                return Box::pin(async { Ok(answering.await?.map(ReplyBody::Tonic)) });
            }
            "grpc.reflection.v1.ServerReflection" => &self.reflection,
            "grpc.reflection.v1alpha.ServerReflection" => &self.reflection_alpha,
            _ => &None,
        };
        match reflection {
            Some(reflection) => reflection(request),
            None => {
                let status = Status::unimplemented("no such service or method");
                Box::pin(async { Ok(reply::status(status)) })
            }
        }
    }
}

/// What answers the calls of `ratelimiter.v1.RateLimiter`.
#[derive(Clone)]
struct Limiter {
    service: Arc<Service>,
    shutdown: Shutdown,
}

impl Limiter {
    /// tonic's answer to a call; only one that failed before any answer has its status in the head.
    fn seen_to(&self, answer: Response<Body>) -> Reply {
        match Status::from_header_map(answer.headers()) {
            Some(status) => reply::status(self.reread(status)),
            None => answer.map(ReplyBody::Tonic),
        }
    }

    /// What became of a message that could not be read: refused, and counted, as the mistake it is.
    fn reread(&self, status: Status) -> Status {
        match status::unreadable(&status) {
            Some(mistake) => self.refuse(&mistake.into()),
            None => status,
        }
    }

    /// A refusal as a status, counted when it was the client's mistake.
    fn refuse(&self, refused: &Refused) -> Status {
        if let Some(reason) = refused.reason() {
            self.service.mistaken(Door::Grpc, reason);
        }
        status::of(refused)
    }
}
