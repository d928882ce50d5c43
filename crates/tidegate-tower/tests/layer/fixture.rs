//! What the tests of the layer share.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tidegate::{Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Span, Timestamp};
use tidegate_tower::PeerAddr;
use tower::{Layer, Service, ServiceExt};

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
    Policy::new(name, [Limit::quota(name, quota).expect("a quota")]).expect("a policy")
}

/// A policy of one fixed window.
pub(crate) fn window(name: &str, max: u64, secs: u64) -> Policy {
    let max = tidegate::Amount::from_units(max);
    let limit = Limit::fixed_window(name, max, Span::from_secs(secs)).expect("a limit");
    Policy::new(name, [limit]).expect("a policy")
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    head: http::response::Parts,
}

impl Answer {
    /// The lines of a header, joined.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.headers.get_all(name).iter();
        let lines: Vec<&str> = lines.map(|value| value.to_str().expect("text")).collect();
        (!lines.is_empty()).then(|| lines.join(", "))
    }
}

/// Sends a request through a layer to a service that says that it was reached.
pub(crate) async fn send<L, B>(layer: &L, request: Request<Full<Bytes>>) -> Answer
where
    L: Layer<Reached>,
    L::Service: Service<Request<Full<Bytes>>, Response = Response<B>, Error: std::fmt::Debug>,
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let service = layer.layer(Reached);
    read(service.oneshot(request).await.expect("an answer")).await
}

/// A service that says that it was reached.
#[derive(Clone, Copy)]
pub(crate) struct Reached;

impl<B> Service<Request<B>> for Reached {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Full<Bytes>>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::new(Full::from("reached"))))
    }
}

/// Reads an answer to its end.
pub(crate) async fn read<B>(response: Response<B>) -> Answer
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer {
        status: head.status.as_u16(),
        body: String::from_utf8(body.to_vec()).expect("text"),
        head,
    }
}

/// The statuses of so many answers to the same request.
pub(crate) async fn statuses<L, B>(
    layer: &L,
    times: usize,
    request: impl Fn() -> Request<Full<Bytes>>,
) -> Vec<u16>
where
    L: Layer<Reached>,
    L::Service: Service<Request<Full<Bytes>>, Response = Response<B>, Error: std::fmt::Debug>,
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let mut statuses = Vec::with_capacity(times);
    for _ in 0..times {
        statuses.push(send(layer, request()).await.status);
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
pub(crate) fn with(peer: &str, headers: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let mut request = from(peer);
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().expect("a name");
        request.headers_mut().append(name, value.parse().expect("a value"));
    }
    request
}

/// A request from this address.
pub(crate) fn from(peer: &str) -> Request<Full<Bytes>> {
    let peer = SocketAddr::new(peer.parse().expect("an address"), 4711);
    Request::get("/").extension(PeerAddr(peer)).body(Full::default()).expect("a request")
}
