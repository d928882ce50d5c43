//! gRPC: `ratelimiter.v1.RateLimiter`, health and reflection.

mod convert;
mod health;
mod reflection;
mod status;
mod stream;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::{Status, async_trait};
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;
use tonic_reflection::server::Builder;
use tower_service::Service as _;

pub(crate) use health::{Health, follow};

use crate::constants::MAX_GRPC_MESSAGE;
use crate::face::Refused;
use crate::proto::{DESCRIPTORS, v1 as wire};
use crate::service::{CheckRequest, Face, Service};
use crate::shutdown::Shutdown;
use reflection::Questions;
use wire::rate_limiter_server::{RateLimiter, RateLimiterServer};

/// An answer to come.
type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// A service that is rarely called, behind a pointer.
type Rare = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// The gRPC face. Cheap to clone: one for each connection.
#[derive(Clone)]
pub(crate) struct Grpc {
    limiter: Limiter,
    server: RateLimiterServer<Limiter>,
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
        let limiter = Limiter { service, shutdown };
        Grpc {
            server: RateLimiterServer::new(limiter.clone())
                .max_decoding_message_size(MAX_GRPC_MESSAGE)
                .max_encoding_message_size(usize::MAX),
            limiter,
            health: health.server(),
            reflection,
            reflection_alpha: alpha,
        }
    }

    /// Answers one call of the limiter. A message that cannot be read never gets to its method: here
    /// tonic's answer to it is seen to.
    fn decide(&self, request: Request<Incoming>) -> Answering {
        let answering = self.server.clone().call(request);
        let limiter = self.limiter.clone();
        Box::pin(async move {
            let answer = answering.await?;
            // Only a call that failed before any answer has its status in the head.
            Ok(match Status::from_header_map(answer.headers()) {
                Some(status) => limiter.reread(status).into_http(),
                None => answer,
            })
        })
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
        Box::pin(service.clone().call(request))
    })
}

impl hyper::service::Service<Request<Incoming>> for Grpc {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let name = request.uri().path().split('/').nth(1).unwrap_or_default();
        let reflection = match name {
            RateLimiterServer::<Limiter>::NAME => return self.decide(request),
            HealthServer::<HealthService>::NAME => return self.health.clone().call(request),
            "grpc.reflection.v1.ServerReflection" => &self.reflection,
            "grpc.reflection.v1alpha.ServerReflection" => &self.reflection_alpha,
            _ => &None,
        };
        match reflection {
            Some(reflection) => reflection(request),
            None => Box::pin(async { Ok(Status::unimplemented("no such service").into_http()) }),
        }
    }
}

/// The methods of `ratelimiter.v1.RateLimiter`.
#[derive(Clone)]
struct Limiter {
    service: Arc<Service>,
    shutdown: Shutdown,
}

impl Limiter {
    async fn decide_one(&self, asked: &wire::AllowRequest) -> Result<wire::AllowResponse, Refused> {
        let request = convert::request(asked, "")?;
        let answer = self.service.decide_one(self.service.rules(), request).await;
        let answer = answer.map_err(|refusal| Refused::of(&refusal, |_| "policy".into()))?;
        Ok(convert::response(&answer))
    }

    async fn decide_many(
        &self,
        asked: &wire::CheckRequest,
    ) -> Result<wire::CheckResponse, Refused> {
        let joint = convert::joint(asked)?;
        let requests: Vec<CheckRequest<'_>> = convert::requests(asked)?;
        let field = |place: usize| format!("checks[{place}].policy");
        let answers = self.service.decide(self.service.rules(), &requests, joint).await;
        let answers = answers.map_err(|refusal| Refused::of(&refusal, field))?;
        Ok(wire::CheckResponse {
            allowed: answers.is_allowed(),
            governing: u32::try_from(answers.governing()).unwrap_or(u32::MAX),
            decisions: answers.iter().map(|answer| convert::response(&answer)).collect(),
        })
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
            self.service.mistaken(Face::Grpc, reason);
        }
        status::of(refused)
    }
}

#[async_trait]
impl RateLimiter for Limiter {
    async fn allow(
        &self,
        request: tonic::Request<wire::AllowRequest>,
    ) -> Result<tonic::Response<wire::AllowResponse>, Status> {
        let answer = self.decide_one(request.get_ref()).await;
        answer.map(tonic::Response::new).map_err(|refused| self.refuse(&refused))
    }

    async fn check(
        &self,
        request: tonic::Request<wire::CheckRequest>,
    ) -> Result<tonic::Response<wire::CheckResponse>, Status> {
        let answer = self.decide_many(request.get_ref()).await;
        answer.map(tonic::Response::new).map_err(|refused| self.refuse(&refused))
    }

    type StreamStream = stream::Answers;

    async fn stream(
        &self,
        request: tonic::Request<tonic::Streaming<wire::AllowRequest>>,
    ) -> Result<tonic::Response<Self::StreamStream>, Status> {
        Ok(tonic::Response::new(stream::answers(self.clone(), request.into_inner())))
    }
}
