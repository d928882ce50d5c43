//! What an allowed request costs in allocations: none of the layer's own.

#![allow(unsafe_code, reason = "an allocator that counts is one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::convert::Infallible;
use std::future::Ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::Full;
use tidegate::{HeaderDialect, Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::{
    ByMethod, Extractor, ForwardedIp, Header, PeerAddr, PeerIp, RateLimitLayer, Trust,
};
use tower::{Layer, Service};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as for the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers with the header map that it has been given, which has room for more.
#[derive(Clone)]
struct Roomy;

impl Service<Request<HeaderMap>> for Roomy {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<HeaderMap>) -> Self::Future {
        let mut response = Response::new(Full::default());
        *response.headers_mut() = request.into_body();
        std::future::ready(Ok(response))
    }
}

fn request(room: usize) -> Request<HeaderMap> {
    let mut request = Request::new(HeaderMap::with_capacity(room));
    let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
    request.extensions_mut().insert(PeerAddr(peer));
    let mut header = |name, value| {
        request
            .headers_mut()
            .insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    };
    header("x-forwarded-for", "6.6.6.6, 2001:db8::1, 192.0.2.9");
    header("x-api-key", "0123456789abcdef0123456789abcdef");
    request
}

/// A limit that no key is back to full of meanwhile: the store would forget it, and make its state anew.
fn limiter() -> Arc<Limiter<MemoryStore>> {
    let policy = Policy::new("api", [Limit::quota("burst", "1000000/day").expect("a quota")]);
    Arc::new(Limiter::new(MemoryStore::new(), policy.expect("a policy")))
}

/// How many allocations a request takes between the call and the answer, on average and rounded down,
/// once everything has been used before.
fn allocations<L>(layer: &L, room: usize) -> usize
where
    L: Layer<Roomy, Service: Service<Request<HeaderMap>, Error: std::fmt::Debug>>,
{
    const ROUNDS: usize = 10_000;
    let mut service = layer.layer(Roomy);
    let mut context = Context::from_waker(Waker::noop());
    let mut total = 0;
    for round in 0..ROUNDS + 100 {
        let request = request(room);
        let before = COUNT.get();
        let ready = service.poll_ready(&mut context);
        assert!(matches!(ready, Poll::Ready(Ok(()))));
        let future = std::pin::pin!(service.call(request));
        let Poll::Ready(Ok(response)) = future.poll(&mut context) else {
            panic!("the service does not wait")
        };
        drop(response);
        // The first requests make the key's state and the thread's buffer.
        total += if round < 100 { 0 } else { COUNT.get() - before };
    }
    assert!(total == 0 || total >= ROUNDS, "{total} in {ROUNDS} requests");
    total / ROUNDS
}

#[test]
fn the_counter_counts() {
    let before = COUNT.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(COUNT.get() - before, 1);
}

#[test]
fn an_allowed_request_allocates_nothing() {
    let layer = RateLimitLayer::new(limiter());
    assert_eq!(allocations(&layer.clone().headers(HeaderDialect::Off), 0), 0);
    assert_eq!(allocations(&layer.clone().key(PeerIp::default()).cost(|_| 1_u32), 8), 0);
    assert_eq!(allocations(&layer.headers(HeaderDialect::Both), 16), 0);
}

/// The answer's own map of headers grows where the service has left no room in it.
#[test]
fn headers_take_the_room_that_the_answer_has() {
    let layer = RateLimitLayer::new(limiter());
    assert!(allocations(&layer, 0) >= 1);
}

#[test]
fn no_kind_of_key_allocates() {
    let layer = RateLimitLayer::new(limiter());
    let api_key = Header::new(HeaderName::from_static("x-api-key"));
    let proxies = Trust::proxies(["192.0.2.0/24".parse().expect("a range")]);
    assert_eq!(allocations(&layer.clone().key(ForwardedIp::new(proxies)), 8), 0);
    assert_eq!(allocations(&layer.clone().key(api_key.clone()), 8), 0);
    assert_eq!(allocations(&layer.clone().key(api_key.clone().hashed()), 8), 0);
    assert_eq!(allocations(&layer.clone().key((PeerIp::default(), ByMethod, api_key)), 8), 0);
    assert_eq!(allocations(&layer.key_by(|_| 42_u64), 8), 0);
    let absent = Header::new(HeaderName::from_static("absent"));
    let falling_back = RateLimitLayer::new(limiter()).key(absent.or(PeerIp::default()));
    assert_eq!(allocations(&falling_back, 8), 0);
}
