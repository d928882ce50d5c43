//! The metrics port: `GET /metrics`, and `/health` for those who look here.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::{Method, Request, StatusCode};

use super::http::{self, Reply};
use crate::service::{Format, Service};

/// The metrics face. Cheap to clone: one for each connection.
#[derive(Clone)]
pub(crate) struct Scrape {
    service: Arc<Service>,
}

impl Scrape {
    pub(crate) fn new(service: Arc<Service>) -> Scrape {
        Scrape { service }
    }

    fn answer(&self, request: &Request<Incoming>) -> Reply {
        match (request.uri().path(), request.method()) {
            ("/metrics", &Method::GET | &Method::HEAD) => self.metrics(request),
            ("/health", &Method::GET | &Method::HEAD) => http::health(),
            ("/metrics" | "/health", _) => http::only("GET, HEAD"),
            _ => http::text(StatusCode::NOT_FOUND, "not found; metrics are at /metrics\n"),
        }
    }

    fn metrics(&self, request: &Request<Incoming>) -> Reply {
        let lines = request.headers().get_all(ACCEPT).iter();
        let accept: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
        let format = Format::accepted_by(&accept.join(","));
        let page = self.service.scrape(format);
        http::typed(StatusCode::OK, format.content_type(), page)
    }
}

impl hyper::service::Service<Request<Incoming>> for Scrape {
    type Response = Reply;
    type Error = Infallible;
    type Future = Ready<Result<Reply, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        ready(Ok(self.answer(&request)))
    }
}
