//! What answers look like.

use http::{Response, StatusCode};
use tidegate::{HeaderDialect, Limit, Policy};
use tidegate_tower::{RateLimitLayer, Refused};

use crate::fixture::{Store, clock, from, limiter, quota, send, window};

fn one_an_hour() -> RateLimitLayer<Store> {
    RateLimitLayer::new(limiter(&clock(), quota("api", "1/hour")))
}

#[tokio::test]
async fn each_dialect_says_its_own_headers_and_no_others() {
    let draft = ["ratelimit", "ratelimit-policy"];
    let legacy = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    for (dialect, has_draft, has_legacy) in [
        (HeaderDialect::Draft11, true, false),
        (HeaderDialect::Legacy, false, true),
        (HeaderDialect::Both, true, true),
        (HeaderDialect::Off, false, false),
    ] {
        let layer = one_an_hour().headers(dialect);
        for status in [200, 429] {
            let answer = send(&layer, from("192.0.2.1")).await;
            assert_eq!(answer.status, status);
            assert!(draft.iter().all(|name| answer.header(name).is_some() == has_draft));
            assert!(legacy.iter().all(|name| answer.header(name).is_some() == has_legacy));
            assert_eq!(answer.header("retry-after").is_some(), status == 429);
        }
    }
}

#[tokio::test]
async fn the_legacy_headers_are_whole_numbers() {
    let layer = one_an_hour().headers(HeaderDialect::Legacy);
    send(&layer, from("192.0.2.1")).await;
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!(answer.header("x-ratelimit-limit").as_deref(), Some("1"));
    assert_eq!(answer.header("x-ratelimit-remaining").as_deref(), Some("0"));
    assert_eq!(answer.header("x-ratelimit-reset").as_deref(), Some("3600"));
}

#[tokio::test]
async fn a_problem_names_the_limit_that_is_violated() {
    let limits = [Limit::quota("burst", "1/hour"), Limit::quota("day", "100/day")];
    let policy = Policy::new("api", limits.map(Result::unwrap)).unwrap();
    let layer = RateLimitLayer::new(limiter(&clock(), policy)).problem_json();
    send(&layer, from("192.0.2.1")).await;
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!(answer.header("content-type").as_deref(), Some("application/problem+json"));
    let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let kind = "https://iana.org/assignments/http-problem-types#quota-exceeded";
    assert_eq!(problem["type"], kind);
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["detail"], "rate limit exceeded");
    assert_eq!(problem["violated-policies"], serde_json::json!(["burst"]));
}

#[tokio::test]
async fn a_problem_is_json_whatever_the_reason_says() {
    let layer = one_an_hour()
        .problem_json()
        .key_by(|_| Err::<&str, _>("a \"quote\", a \\ and a\nnew line"));
    let answer = send(&layer, from("192.0.2.1")).await;
    let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(problem["status"], 400);
    assert_eq!(problem["type"], "about:blank");
    assert_eq!(problem["detail"], "a \"quote\", a \\ and a\nnew line");
}

#[tokio::test]
async fn a_response_of_ones_own_gets_the_headers_that_it_lacks() {
    let layer = one_an_hour().respond(|refused| {
        let text = match refused {
            Refused::Limited { policy, decision } => {
                let limit = policy.limits()[decision.limit_index].name();
                format!("{limit} says no")
            }
            other => other.to_string(),
        };
        let mut response = Response::new(text);
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response
    });
    send(&layer, from("192.0.2.1")).await;
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (418, "api says no"));
    assert_eq!(answer.header("retry-after").as_deref(), Some("3600"));
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"api\";r=0;t=3600"));
}

/// P24 for layers in layers: what the inner one says of its denial is not overwritten by an outer one
/// that allowed.
#[tokio::test]
async fn an_outer_layer_leaves_an_inner_ones_answer_alone() {
    use tower::Layer;
    let outer = RateLimitLayer::new(limiter(&clock(), window("outer", 100, 60)));
    let inner = RateLimitLayer::new(limiter(&clock(), quota("inner", "1/hour")));
    let both = tower::layer::layer_fn(move |service| outer.layer(inner.layer(service)));
    send(&both, from("192.0.2.1")).await;
    let answer = send(&both, from("192.0.2.1")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"inner\";r=0;t=3600"));
    let policies = answer.header("ratelimit-policy").unwrap();
    assert_eq!(policies, "\"inner\";q=1;w=3600, \"outer\";q=100;w=60");
}
