//! Giving back, and charging the true cost.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use tidegate::{Amount, Limiter};
use tidegate_tower::RateLimitLayer;
use tower::{Layer, ServiceExt};

use crate::fixture::{Store, clock, from, limiter, quota, with};

/// What is left for the peer of [`from`].
fn left(limiter: &Limiter<Store>) -> Amount {
    limiter.peek("192.0.2.1", Amount::ZERO).expect("a key").remaining
}

/// Answers with the status that the request names.
async fn as_told(request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let status = request.headers()["status"].to_str().expect("text").parse().expect("a status");
    let mut response = Response::new(Full::from("twelve bytes"));
    *response.status_mut() = status;
    Ok(response)
}

#[tokio::test]
async fn only_failed_logins_are_counted() {
    let limiter = Arc::new(limiter(&clock(), quota("failures", "2/hour")));
    let layer = RateLimitLayer::new(Arc::clone(&limiter))
        .refund_if(|response| response.status() != StatusCode::UNAUTHORIZED);
    let service = layer.layer(tower::service_fn(as_told));
    let login = |status| {
        let service = service.clone();
        async move {
            let request = with("192.0.2.1", &[("status", status)]);
            service.oneshot(request).await.unwrap().status().as_u16()
        }
    };
    for _ in 0..10 {
        assert_eq!(login("200").await, 200);
    }
    assert_eq!([login("401").await, login("200").await, login("401").await], [401, 200, 401]);
    assert_eq!(login("200").await, 429);
    assert_eq!(left(&limiter), Amount::ZERO);
}

fn sent_bytes(
    limiter: &Arc<Limiter<Store>>,
) -> RateLimitLayer<
    Store,
    tidegate_tower::Rule<tidegate_tower::PeerIp>,
    tidegate_tower::NoPrelude,
    tidegate_tower::Hooks,
> {
    RateLimitLayer::new(Arc::clone(limiter)).true_cost(|served| Amount::from_units(served.bytes()))
}

#[tokio::test]
async fn the_bytes_that_went_out_are_charged() {
    let limiter = Arc::new(limiter(&clock(), quota("bytes", "100/hour")));
    let service = sent_bytes(&limiter).layer(tower::service_fn(as_told));
    let request = with("192.0.2.1", &[("status", "200")]);
    let response = service.oneshot(request).await.unwrap();
    assert_eq!(left(&limiter), Amount::from_units(99), "before the body is out");
    response.into_body().collect().await.unwrap();
    assert_eq!(left(&limiter), Amount::from_units(88));
}

#[tokio::test]
async fn the_true_cost_may_go_below_zero() {
    let limiter = Arc::new(limiter(&clock(), quota("bytes", "10/hour")));
    let service = sent_bytes(&limiter).layer(tower::service_fn(as_told));
    let request = || with("192.0.2.1", &[("status", "200")]);
    let response = service.clone().oneshot(request()).await.unwrap();
    response.into_body().collect().await.unwrap();
    let denied = service.oneshot(request()).await.unwrap();
    assert_eq!(denied.status(), 429);
    // 2 below zero, 10 in 3600 s: 3 must come back for one to pass.
    assert_eq!(denied.headers()["retry-after"], "1080");
}

#[tokio::test]
async fn a_client_that_goes_away_is_charged_for_what_went_out() {
    let limiter = Arc::new(limiter(&clock(), quota("bytes", "100/hour")));
    let endless = tower::service_fn(|_: Request<Full<Bytes>>| async {
        let frame =
            || Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(b"0123456789")));
        let frames = futures_util::stream::repeat_with(frame);
        Ok::<_, Infallible>(Response::new(StreamBody::new(frames)))
    });
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let layer = {
        let seen = Arc::clone(&seen);
        RateLimitLayer::new(Arc::clone(&limiter)).true_cost(move |served| {
            let status = served.status().map(|status| status.as_u16());
            seen.lock().unwrap().push((status, served.bytes(), served.is_complete()));
            Amount::from_units(served.bytes())
        })
    };
    let response = layer.layer(endless).oneshot(from("192.0.2.1")).await.unwrap();
    let mut body = Box::pin(response.into_body());
    for _ in 0..3 {
        body.frame().await.unwrap().unwrap();
    }
    drop(body);
    assert_eq!(left(&limiter), Amount::from_units(70));
    assert_eq!(*seen.lock().unwrap(), [(Some(200), 30, false)]);
}

/// A server drops the body of such an answer unread.
#[tokio::test]
async fn an_answer_to_head_is_complete_without_its_body() {
    let limiter = Arc::new(limiter(&clock(), quota("bytes", "100/hour")));
    let layer = RateLimitLayer::new(Arc::clone(&limiter))
        .true_cost(|served| Amount::from_units(if served.is_complete() { 7 } else { 50 }));
    let mut request = with("192.0.2.1", &[("status", "200")]);
    *request.method_mut() = http::Method::HEAD;
    drop(layer.layer(tower::service_fn(as_told)).oneshot(request).await.unwrap());
    assert_eq!(left(&limiter), Amount::from_units(93));
}

#[tokio::test]
async fn a_request_that_is_never_answered_costs_what_the_function_says() {
    let limiter = Arc::new(limiter(&clock(), quota("bytes", "100/hour")));
    let never = tower::service_fn(|_: Request<Full<Bytes>>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let layer = RateLimitLayer::new(Arc::clone(&limiter))
        .true_cost(|served| Amount::from_units(if served.status().is_none() { 5 } else { 0 }));
    let mut answer = Box::pin(layer.layer(never).oneshot(from("192.0.2.1")));
    assert!(futures_util::poll!(&mut answer).is_pending());
    assert_eq!(left(&limiter), Amount::from_units(99));
    drop(answer);
    assert_eq!(left(&limiter), Amount::from_units(95));
}

#[tokio::test]
async fn what_costs_less_than_it_took_is_given_back() {
    let limiter = Arc::new(limiter(&clock(), quota("tokens", "1000/hour")));
    #[derive(Clone)]
    struct Used(u64);
    let model = tower::service_fn(|_: Request<Full<Bytes>>| async {
        let mut response = Response::new(Full::<Bytes>::default());
        response.extensions_mut().insert(Used(120));
        Ok::<_, Infallible>(response)
    });
    let layer = RateLimitLayer::new(Arc::clone(&limiter)).cost(|_| 500_u32).true_cost(|served| {
        Amount::from_units(served.extensions().get::<Used>().map_or(500, |used| used.0))
    });
    let response = layer.layer(model).oneshot(from("192.0.2.1")).await.unwrap();
    assert_eq!(left(&limiter), Amount::from_units(500));
    drop(response);
    assert_eq!(left(&limiter), Amount::from_units(880));
}
