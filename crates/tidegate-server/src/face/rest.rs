//! REST: `/limit`, `/v1/check`, `/health` and `/ready`, straight on hyper.

mod body;
mod fields;
mod json;
mod limit;
mod status;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::{Method, Request, StatusCode};

use super::Refused;
use super::http::{self, Reply};
use crate::service::{Face, Ready, Service};
use crate::settings::HeaderDialect;

/// The REST face. Cheap to clone: one for each connection.
#[derive(Clone)]
pub(crate) struct Rest {
    service: Arc<Service>,
    dialect: HeaderDialect,
}

impl Rest {
    /// A face on this service that tells of limits in this dialect.
    pub(crate) fn new(service: Arc<Service>, dialect: HeaderDialect) -> Rest {
        Rest { service, dialect }
    }

    async fn answer(self, request: Request<Incoming>) -> Reply {
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

    async fn limit(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let drained = body::drain(body).await;
        let decided = match drained {
            Ok(()) => limit::decide(&self.service, &head.headers, self.dialect).await,
            Err(refusal) => Err(refusal),
        };
        decided.unwrap_or_else(|refusal| {
            self.count(&refusal);
            status::plain(&refusal)
        })
    }

    async fn check(&self, request: Request<Incoming>) -> Reply {
        let decided = match body::collect(request.into_body()).await {
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
            self.service.mistaken(Face::Rest, reason);
        }
    }
}

impl hyper::service::Service<Request<Incoming>> for Rest {
    type Response = Reply;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let face = self.clone();
        Box::pin(async move { Ok(face.answer(request).await) })
    }
}
