//! What the tests share.

use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::http::header::HeaderMap;
use actix_web::test::{TestRequest, read_body};
use actix_web::{Error, HttpResponse};
use tidegate::{Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Span, Timestamp};

/// A store in memory in virtual time.
pub(crate) type Store = MemoryStore<Arc<ManualClock>>;

/// A time at which windows begin.
pub(crate) const START: u64 = 1_000_000_080;

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_secs(START)))
}

pub(crate) fn limiter(clock: &Arc<ManualClock>, policy: Policy) -> Limiter<Store> {
    Limiter::new(MemoryStore::with_clock(MemoryConfig::default(), Arc::clone(clock)), policy)
}

/// A policy of one limit, named as the policy.
pub(crate) fn quota(name: &str, quota: &str) -> Policy {
    Policy::new(name, [Limit::quota(name, quota).unwrap()]).unwrap()
}

/// A policy of one fixed window.
pub(crate) fn window(name: &str, max: u64, secs: u64) -> Policy {
    let max = tidegate::Amount::from_units(max);
    let limit = Limit::fixed_window(name, max, Span::from_secs(secs)).unwrap();
    Policy::new(name, [limit]).unwrap()
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    headers: HeaderMap,
}

impl Answer {
    /// The lines of a header, joined.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines: Vec<_> = self.headers.get_all(name).map(|line| line.to_str().unwrap()).collect();
        (!lines.is_empty()).then(|| lines.join(", "))
    }
}

/// Reads an answer to its end.
pub(crate) async fn read<B: MessageBody>(response: ServiceResponse<B>) -> Answer {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = String::from_utf8(read_body(response).await.to_vec()).unwrap();
    Answer { status, body, headers }
}

/// Sends a request through a middleware to a service that says that it was reached.
pub(crate) async fn send<M, B>(limit: &M, request: TestRequest) -> Answer
where
    M: Transform<
            Reached,
            ServiceRequest,
            Response = ServiceResponse<B>,
            Error = Error,
            InitError = (),
        >,
    B: MessageBody,
{
    let service = limit.new_transform(Reached).await.unwrap();
    read(service.call(request.to_srv_request()).await.unwrap()).await
}

/// A service that is a function.
pub(crate) struct By<F>(pub(crate) F);

impl<F, T, B> Service<ServiceRequest> for By<F>
where
    F: Fn(ServiceRequest) -> T,
    T: Future<Output = Result<ServiceResponse<B>, Error>>,
{
    type Response = ServiceResponse<B>;
    type Error = Error;
    type Future = T;

    actix_web::dev::always_ready!();

    fn call(&self, request: ServiceRequest) -> T {
        (self.0)(request)
    }
}

/// A service that says that it was reached.
pub(crate) struct Reached;

impl Service<ServiceRequest> for Reached {
    type Response = ServiceResponse;
    type Error = Error;
    type Future = Ready<Result<ServiceResponse, Error>>;

    actix_web::dev::always_ready!();

    fn call(&self, request: ServiceRequest) -> Self::Future {
        ready(Ok(request.into_response(HttpResponse::Ok().body("reached"))))
    }
}

/// The statuses of so many answers to the same request.
pub(crate) async fn statuses<M, B>(
    limit: &M,
    times: usize,
    request: impl Fn() -> TestRequest,
) -> Vec<u16>
where
    M: Transform<
            Reached,
            ServiceRequest,
            Response = ServiceResponse<B>,
            Error = Error,
            InitError = (),
        >,
    B: MessageBody,
{
    let mut statuses = Vec::with_capacity(times);
    for _ in 0..times {
        statuses.push(send(limit, request()).await.status);
    }
    statuses
}

/// How many of these are 200; the others must all be 429, and come later.
pub(crate) fn passed(statuses: &[u16]) -> usize {
    let passed = statuses.iter().take_while(|status| **status == 200).count();
    assert!(statuses[passed..].iter().all(|status| *status == 429), "{statuses:?}");
    passed
}

/// A request from this address, with these headers.
pub(crate) fn with(peer: &str, headers: &[(&str, &str)]) -> TestRequest {
    let add = |request: TestRequest, line: &(&str, &str)| request.append_header(*line);
    headers.iter().fold(from(peer), add)
}

/// A request from this address.
pub(crate) fn from(peer: &str) -> TestRequest {
    TestRequest::get().peer_addr(SocketAddr::new(peer.parse().unwrap(), 4711))
}
