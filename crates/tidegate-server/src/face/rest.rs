//! REST: `/limit`, `/v1/check`, `/health` and `/ready`, straight on hyper.

mod body;
mod fields;
mod json;
mod limit;
mod status;

use std::convert::Infallible;
use std::future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::Either;
use hyper::body::{Body, Incoming};
use hyper::header::HOST;
use hyper::{Method, Request, StatusCode};

use super::Refused;
use super::http::{self, Reply};
use crate::service::{Face as Door, Ready, Service};
use crate::settings::HeaderDialect;

/// The REST face. Cheap to clone: one for each connection.
pub(crate) struct Rest(Arc<Face>);

struct Face {
    service: Arc<Service>,
    dialect: HeaderDialect,
}

/// Each connection has a count of its own, so that requests on two cores do not pass one to and fro.
impl Clone for Rest {
    fn clone(&self) -> Rest {
        Rest::new(Arc::clone(&self.0.service), self.0.dialect)
    }
}

impl Rest {
    /// A face on this service that tells of limits in this dialect.
    pub(crate) fn new(service: Arc<Service>, dialect: HeaderDialect) -> Rest {
        Rest(Arc::new(Face { service, dialect }))
    }
}

impl Face {
    /// Whether something has to be waited for: a body, or a store that is somewhere else.
    fn waits(&self, request: &Request<Incoming>) -> bool {
        self.service.is_store_remote() || !request.body().is_end_stream()
    }

    async fn answer(&self, request: &mut Request<Incoming>) -> Reply {
        // RFC 9112, 3.2: whoever is in between may have gone by the other one.
        if request.headers().get_all(HOST).iter().nth(1).is_some() {
            return http::text(StatusCode::BAD_REQUEST, "Host: given more than once\n");
        }
        match (request.uri().path(), request.method()) {
            ("/limit", &Method::POST) => self.limit(request).await,
            ("/v1/check", &Method::POST) => self.check(request).await,
            ("/limit" | "/v1/check", _) => http::only("POST"),
            ("/health", &Method::GET | &Method::HEAD) => http::health(),
            ("/ready", &Method::GET | &Method::HEAD) => self.ready(),
            ("/health" | "/ready", _) => http::only("GET, HEAD"),
            _ => http::text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    async fn limit(&self, request: &mut Request<Incoming>) -> Reply {
        let drained = body::drain(request.body_mut()).await;
        let decided = match drained {
            Ok(()) => limit::decide(&self.service, request.headers(), self.dialect).await,
            Err(refusal) => Err(refusal),
        };
        decided.unwrap_or_else(|refusal| {
            self.count(&refusal);
            status::plain(&refusal)
        })
    }

    async fn check(&self, request: &mut Request<Incoming>) -> Reply {
        let decided = match body::collect(request.body_mut()).await {
            Ok(body) => json::decide(&self.service, &body).await,
            Err(refusal) => Err(refusal),
        };
        decided.unwrap_or_else(|refusal| {
            self.count(&refusal);
            status::problem(&refusal)
        })
    }

    fn ready(&self) -> Reply {
        match self.service.readiness().now() {
            Ready::Yes => http::text(StatusCode::OK, "ready\n"),
            Ready::Degraded => http::text(StatusCode::OK, "degraded\n"),
            Ready::No => http::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        }
    }

    /// Counts a refusal that was the client's mistake.
    fn count(&self, refusal: &Refused) {
        if let Some(reason) = refusal.reason() {
            self.service.mistaken(Door::Rest, reason);
        }
    }
}

impl hyper::service::Service<Request<Incoming>> for Rest {
    type Response = Reply;
    type Error = Infallible;
    type Future = Either<future::Ready<Answered>, Pin<Box<dyn Future<Output = Answered> + Send>>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        // What waits for nothing is answered here and now: no future is kept for it.
        if !self.0.waits(&request)
            && let Some(reply) = self.0.answer(&mut request).now_or_never()
        {
            return Either::Left(future::ready(Ok(reply)));
        }
        let face = Arc::clone(&self.0);
        Either::Right(Box::pin(async move { Ok(face.answer(&mut request).await) }))
    }
}

type Answered = Result<Reply, Infallible>;
