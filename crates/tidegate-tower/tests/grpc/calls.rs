//! Single calls.

use std::sync::Arc;

use tidegate::{HeaderDialect, ManualClock, MemoryConfig, MemoryStore, Policy, Span, Timestamp};
use tidegate_tower::{RateLimitLayer, RequestHead};
use tonic::Code;

use crate::server::{Client, QuotaFailure, RetryInfo, Violation, detail, limiter, serve};

#[tokio::test]
async fn a_denied_call_is_resource_exhausted_and_says_when_to_come_back() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
    let store = MemoryStore::with_clock(MemoryConfig::default(), Arc::clone(&clock));
    let limit = tidegate::Limit::quota("burst", "1 per 1500ms").unwrap();
    let policy = Policy::new("api", [limit]).unwrap();
    let layer = RateLimitLayer::new(tidegate::Limiter::new(store, policy));
    let mut client = Client::connect(serve(layer).await).await;

    let answer = client.once("hello").await.unwrap();
    assert_eq!(answer.metadata().get("ratelimit-policy").unwrap(), "\"burst\";q=1;w=2");
    assert_eq!(answer.get_ref(), "hello");

    clock.advance(Span::from_millis(100));
    let denied = client.once("hello").await.unwrap_err();
    assert_eq!((denied.code(), denied.message()), (Code::ResourceExhausted, "rate limit exceeded"));
    assert_eq!(denied.metadata().get("retry-after").unwrap(), "2");
    assert_eq!(denied.metadata().get("ratelimit").unwrap(), "\"burst\";r=0;t=2");
    let retry: RetryInfo = detail(&denied, "RetryInfo").unwrap();
    let exact = prost_types::Duration { seconds: 1, nanos: 400_000_000 };
    assert_eq!(retry.retry_delay, Some(exact));
    let failure: QuotaFailure = detail(&denied, "QuotaFailure").unwrap();
    let violation = Violation {
        subject: "policy:api".into(),
        description: "rate limit exceeded".into(),
        quota_id: "burst".into(),
        quota_value: 1,
    };
    assert_eq!(failure.violations, [violation]);

    clock.advance(Span::from_secs(2));
    assert!(client.once("hello").await.is_ok());
}

#[tokio::test]
async fn a_cost_that_can_never_pass_is_not_told_to_come_back() {
    let layer = RateLimitLayer::new(limiter("5/s")).cost(|_| 6_u32).headers(HeaderDialect::Off);
    let mut client = Client::connect(serve(layer).await).await;
    let denied = client.once("hello").await.unwrap_err();
    assert_eq!((denied.code(), denied.message()), (Code::ResourceExhausted, "cost exceeds limit"));
    assert_eq!(denied.metadata().get("retry-after"), None);
    assert_eq!(denied.metadata().get("ratelimit"), None);
    assert_eq!(detail::<RetryInfo>(&denied, "RetryInfo"), None);
    assert!(detail::<QuotaFailure>(&denied, "QuotaFailure").is_some());
}

#[tokio::test]
async fn a_call_without_a_key_is_an_invalid_argument() {
    let layer = RateLimitLayer::new(limiter("5/s"))
        .key_by(|request| request.headers().get("user").ok_or("log in first").map(|_| "user"));
    let mut client = Client::connect(serve(layer).await).await;
    let refused = client.once("hello").await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "log in first"));
}

#[tokio::test]
async fn calls_may_be_counted_by_their_method() {
    let layer = RateLimitLayer::new(limiter("2/hour"))
        .key_by(|request: &RequestHead<'_>| request.uri().path().to_owned());
    let mut client = Client::connect(serve(layer).await).await;
    for expected in [true, true, false] {
        assert_eq!(client.once("hello").await.is_ok(), expected);
    }
    let (sender, answers) = client.each().await;
    assert!(answers.is_ok(), "another method");
    drop(sender);
}

/// A web request to the same server is answered as one.
#[tokio::test]
async fn what_is_no_grpc_call_is_answered_in_http() {
    let layer = RateLimitLayer::new(limiter("1/hour")).key("all");
    let address = serve(layer).await;
    let mut client = Client::connect(address).await;
    client.once("hello").await.unwrap();
    let url = format!("http://{address}/");
    let curl = move || {
        std::process::Command::new("curl").args(["-s", "--http2-prior-knowledge", &url]).output()
    };
    let output = tokio::task::spawn_blocking(curl).await.unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "rate limit exceeded\n");
}
