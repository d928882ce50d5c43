//! Giving back, and charging the true cost.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use actix_web::body::{BodySize, BodyStream, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::http::{Method, StatusCode};
use actix_web::{Error, HttpMessage, HttpResponse};
use bytes::Bytes;
use tidegate::{Amount, Limiter};
use tidegate_actix::{Hooks, NoPrelude, PeerIp, RateLimit, Rule};

use crate::fixture::{By, Store, clock, from, limiter, quota, read, with};

/// What is left for the peer of [`from`].
fn left(limiter: &Limiter<Store>) -> Amount {
    limiter.peek("192.0.2.1", Amount::ZERO).unwrap().remaining
}

/// Answers with the status that the request names.
async fn as_told(request: ServiceRequest) -> Result<ServiceResponse, Error> {
    let status = request.headers().get("status").map_or("200", |value| value.to_str().unwrap());
    let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
    Ok(request.into_response(HttpResponse::build(status).body("twelve bytes")))
}

#[actix_web::test]
async fn only_failed_logins_are_counted() {
    let limiter = Arc::new(limiter(&clock(), quota("failures", "2/hour")));
    let failures = RateLimit::new(Arc::clone(&limiter))
        .refund_if(|response| response.status() != StatusCode::UNAUTHORIZED);
    let service = failures.new_transform(By(as_told)).await.unwrap();
    let login = async |status| {
        let request = with("192.0.2.1", &[("status", status)]).to_srv_request();
        service.call(request).await.unwrap().status().as_u16()
    };
    for _ in 0..10 {
        assert_eq!(login("200").await, 200);
    }
    assert_eq!([login("401").await, login("200").await, login("401").await], [401, 200, 401]);
    assert_eq!(login("200").await, 429);
    assert_eq!(left(&limiter), Amount::ZERO);
}

/// What was seen of each request that was served: status, bytes, and whether that was all.
type Seen = Arc<Mutex<Vec<(Option<u16>, u64, bool)>>>;

/// Charges the bytes that went out.
fn sent_bytes(
    limiter: &Arc<Limiter<Store>>,
    seen: &Seen,
) -> RateLimit<Store, Rule<PeerIp>, NoPrelude, Hooks> {
    let seen = Arc::clone(seen);
    RateLimit::new(Arc::clone(limiter)).true_cost(move |served| {
        let status = served.status().map(|status| status.as_u16());
        seen.lock().unwrap().push((status, served.bytes(), served.is_complete()));
        Amount::from_units(served.bytes())
    })
}

#[actix_web::test]
async fn the_bytes_that_went_out_are_charged() {
    let (limiter, seen) =
        (Arc::new(limiter(&clock(), quota("bytes", "100/hour"))), Seen::default());
    let service = sent_bytes(&limiter, &seen).new_transform(By(as_told)).await.unwrap();
    let response = service.call(from("192.0.2.1").to_srv_request()).await.unwrap();
    assert_eq!(left(&limiter), Amount::from_units(99), "before the body is out");
    assert_eq!(read(response).await.body, "twelve bytes");
    assert_eq!(left(&limiter), Amount::from_units(88));
    assert_eq!(*seen.lock().unwrap(), [(Some(200), 12, true)]);
}

/// What is boxed by a middleware outside is still seen to its end.
#[actix_web::test]
async fn a_body_that_is_boxed_is_watched_nevertheless() {
    let (limiter, seen) =
        (Arc::new(limiter(&clock(), quota("bytes", "100/hour"))), Seen::default());
    let service = sent_bytes(&limiter, &seen).new_transform(By(as_told)).await.unwrap();
    let response = service.call(from("192.0.2.1").to_srv_request()).await.unwrap();
    let boxed = response.map_into_boxed_body();
    assert_eq!(*seen.lock().unwrap(), [], "nothing went out yet");
    assert_eq!(read(boxed).await.body, "twelve bytes");
    assert_eq!(*seen.lock().unwrap(), [(Some(200), 12, true)]);
}

/// Servers drop a body of no bytes, and that of an answer to HEAD, without asking for its end.
#[actix_web::test]
async fn an_answer_without_a_body_is_complete() {
    let (limiter, seen) =
        (Arc::new(limiter(&clock(), quota("bytes", "100/hour"))), Seen::default());
    let empty = By(async |request: ServiceRequest| {
        Ok::<_, Error>(request.into_response(HttpResponse::NoContent().finish()))
    });
    let service = sent_bytes(&limiter, &seen).new_transform(empty).await.unwrap();
    let response = service.call(from("192.0.2.1").to_srv_request()).await.unwrap();
    assert!(response.response().body().size().is_eof());
    drop(response);
    let head = sent_bytes(&limiter, &seen).new_transform(By(as_told)).await.unwrap();
    let request = || from("192.0.2.1").method(Method::HEAD).to_srv_request();
    let response = head.call(request()).await.unwrap();
    assert_eq!(response.response().body().size(), BodySize::Sized(12));
    drop(response);
    // HTTP/1 reads it and writes nothing.
    read(head.call(request()).await.unwrap()).await;
    assert_eq!(
        *seen.lock().unwrap(),
        [(Some(204), 0, true), (Some(200), 0, true), (Some(200), 0, true)]
    );
    assert_eq!(left(&limiter), Amount::from_units(100), "what was taken was given back");
}

#[actix_web::test]
async fn the_true_cost_may_go_below_zero() {
    let (limiter, seen) = (Arc::new(limiter(&clock(), quota("bytes", "10/hour"))), Seen::default());
    let service = sent_bytes(&limiter, &seen).new_transform(By(as_told)).await.unwrap();
    let ask = async || read(service.call(from("192.0.2.1").to_srv_request()).await.unwrap()).await;
    assert_eq!(ask().await.status, 200);
    let denied = ask().await;
    assert_eq!(denied.status, 429);
    // 2 below zero, 10 in 3600 s: 3 must come back for one to pass.
    assert_eq!(denied.header("retry-after").as_deref(), Some("1080"));
}

#[actix_web::test]
async fn a_client_that_goes_away_is_charged_for_what_went_out() {
    let (limiter, seen) =
        (Arc::new(limiter(&clock(), quota("bytes", "100/hour"))), Seen::default());
    let endless = By(async |request: ServiceRequest| {
        let chunk = || Ok::<_, Infallible>(Bytes::from_static(b"0123456789"));
        let chunks = BodyStream::new(futures_util::stream::repeat_with(chunk));
        Ok(request.into_response(HttpResponse::Ok().message_body(chunks)?))
    });
    let service = sent_bytes(&limiter, &seen).new_transform(endless).await.unwrap();
    let response = service.call(from("192.0.2.1").to_srv_request()).await.unwrap();
    let mut body = Box::pin(response.into_body());
    for _ in 0..3 {
        poll_fn(|context| body.as_mut().poll_next(context)).await.unwrap().unwrap();
    }
    drop(body);
    assert_eq!(left(&limiter), Amount::from_units(70));
    assert_eq!(*seen.lock().unwrap(), [(Some(200), 30, false)]);
}

#[actix_web::test]
async fn a_request_that_is_never_answered_costs_what_the_function_says() {
    let limiter = Arc::new(limiter(&clock(), quota("bytes", "100/hour")));
    let never = By(|_: ServiceRequest| pending::<Result<ServiceResponse, Error>>());
    let service = RateLimit::new(Arc::clone(&limiter))
        .true_cost(|served| Amount::from_units(if served.status().is_none() { 5 } else { 0 }))
        .new_transform(never)
        .await
        .unwrap();
    {
        let answer = pin!(service.call(from("192.0.2.1").to_srv_request()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(answer.poll(&mut context).is_pending());
        assert_eq!(left(&limiter), Amount::from_units(99));
    }
    assert_eq!(left(&limiter), Amount::from_units(95));
}

/// The request's extensions are where a handler leaves what only it knows.
#[actix_web::test]
async fn what_costs_less_than_it_took_is_given_back() {
    struct Used(u64);
    let limiter = Arc::new(limiter(&clock(), quota("tokens", "1000/hour")));
    let model = By(async |request: ServiceRequest| {
        request.extensions_mut().insert(Used(120));
        Ok::<_, Error>(request.into_response(HttpResponse::Ok().body("a word")))
    });
    let service = RateLimit::new(Arc::clone(&limiter))
        .cost(|_| 500_u32)
        .true_cost(|served| {
            let used = |request: &actix_web::HttpRequest| {
                request.extensions().get::<Used>().map(|used| used.0)
            };
            Amount::from_units(served.request().and_then(used).unwrap_or(500))
        })
        .new_transform(model)
        .await
        .unwrap();
    let response = service.call(from("192.0.2.1").to_srv_request()).await.unwrap();
    assert_eq!(left(&limiter), Amount::from_units(500));
    drop(response);
    assert_eq!(left(&limiter), Amount::from_units(880));
}
