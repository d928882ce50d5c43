//! How the layer treats the service inside.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tidegate_tower::RateLimitLayer;
use tower::{Layer, Service, ServiceExt};

use crate::fixture::{clock, from, limiter, quota};

/// A service that panics when it is called without having been asked whether it is ready, as some do.
#[derive(Default)]
struct Strict {
    is_ready: bool,
    calls: Arc<AtomicUsize>,
}

/// A clone has to become ready by itself.
impl Clone for Strict {
    fn clone(&self) -> Strict {
        Strict { is_ready: false, calls: Arc::clone(&self.calls) }
    }
}

impl Service<Request<Full<Bytes>>> for Strict {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called without being ready");
        self.calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(Response::new(Full::default())))
    }
}

#[tokio::test]
async fn the_service_inside_is_only_called_when_it_is_ready() {
    let strict = Strict::default();
    let calls = Arc::clone(&strict.calls);
    let layer = RateLimitLayer::new(limiter(&clock(), quota("api", "3/hour")));
    let mut service = layer.layer(strict);
    for expected in [200, 200, 200, 429, 429] {
        let answer = service.ready().await.unwrap().call(from("192.0.2.1")).await.unwrap();
        assert_eq!(answer.status(), expected);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 3, "a denial does not reach it");
}

#[tokio::test]
async fn a_request_that_waits_takes_the_ready_service_along() {
    let layer =
        RateLimitLayer::new(limiter(&clock(), quota("api", "3/hour"))).key_async(|_| async {
            tokio::task::yield_now().await;
            Some("all")
        });
    let mut service = layer.layer(Strict::default());
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(tokio::spawn(service.ready().await.unwrap().call(from("192.0.2.1"))));
    }
    let mut statuses = Vec::new();
    for answer in answers {
        statuses.push(answer.await.unwrap().unwrap().status().as_u16());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 429]);
}

#[tokio::test]
async fn errors_of_the_service_inside_are_left_as_they_are() {
    #[derive(Debug, PartialEq)]
    struct Broken;
    let broken = tower::service_fn(|_: Request<Full<Bytes>>| async {
        Err::<Response<Full<Bytes>>, Broken>(Broken)
    });
    let layer = RateLimitLayer::new(limiter(&clock(), quota("api", "1/hour")));
    let service = layer.layer(broken);
    assert_eq!(service.clone().oneshot(from("192.0.2.1")).await.unwrap_err(), Broken);
    let answer = service.oneshot(from("192.0.2.1")).await.unwrap();
    assert_eq!(answer.status(), 429, "the error was counted");
}

/// A body of any type goes in, and one of any type comes out: neither need be a body at all.
#[tokio::test]
async fn bodies_may_be_of_any_type() {
    let echo = tower::service_fn(|request: Request<u32>| async move {
        Ok::<_, Infallible>(Response::new(request.into_body()))
    });
    let layer = RateLimitLayer::new(limiter(&clock(), quota("api", "1/hour"))).key("all");
    let service = layer.layer(echo);
    assert_eq!(service.clone().oneshot(Request::new(1)).await.unwrap().status(), 200);
    assert_eq!(service.oneshot(Request::new(1)).await.unwrap().status(), 429);
}
