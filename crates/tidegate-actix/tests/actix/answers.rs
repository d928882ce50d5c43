//! What answers look like.

use actix_web::HttpResponse;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::error::ErrorConflict;
use actix_web::http::StatusCode;
use tidegate::{HeaderDialect, Limit, Policy};
use tidegate_actix::{RateLimit, Refused};

use crate::fixture::{By, Reached, Store, clock, from, limiter, quota, read, send, window};

fn one_an_hour() -> RateLimit<Store> {
    RateLimit::new(limiter(&clock(), quota("api", "1/hour")))
}

#[actix_web::test]
async fn each_dialect_says_its_own_headers_and_no_others() {
    let draft = ["ratelimit", "ratelimit-policy"];
    let legacy = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    for (dialect, has_draft, has_legacy) in [
        (HeaderDialect::Draft11, true, false),
        (HeaderDialect::Legacy, false, true),
        (HeaderDialect::Both, true, true),
        (HeaderDialect::Off, false, false),
    ] {
        let limit = one_an_hour().headers(dialect);
        for status in [200, 429] {
            let answer = send(&limit, from("192.0.2.1")).await;
            assert_eq!(answer.status, status);
            assert!(draft.iter().all(|name| answer.header(name).is_some() == has_draft));
            assert!(legacy.iter().all(|name| answer.header(name).is_some() == has_legacy));
            assert_eq!(answer.header("retry-after").is_some(), status == 429);
        }
    }
}

#[actix_web::test]
async fn the_legacy_headers_are_whole_numbers() {
    let limit = one_an_hour().headers(HeaderDialect::Legacy);
    send(&limit, from("192.0.2.1")).await;
    let answer = send(&limit, from("192.0.2.1")).await;
    assert_eq!(answer.header("x-ratelimit-limit").as_deref(), Some("1"));
    assert_eq!(answer.header("x-ratelimit-remaining").as_deref(), Some("0"));
    assert_eq!(answer.header("x-ratelimit-reset").as_deref(), Some("3600"));
}

#[actix_web::test]
async fn a_problem_names_the_limit_that_is_violated() {
    let limits = [Limit::quota("burst", "1/hour"), Limit::quota("day", "100/day")];
    let policy = Policy::new("api", limits.map(Result::unwrap)).unwrap();
    let limit = RateLimit::new(limiter(&clock(), policy)).problem_json();
    send(&limit, from("192.0.2.1")).await;
    let answer = send(&limit, from("192.0.2.1")).await;
    assert_eq!(answer.header("content-type").as_deref(), Some("application/problem+json"));
    let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let kind = "https://iana.org/assignments/http-problem-types#quota-exceeded";
    assert_eq!(problem["type"], kind);
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["detail"], "rate limit exceeded");
    assert_eq!(problem["violated-policies"], serde_json::json!(["burst"]));
}

#[actix_web::test]
async fn a_problem_is_json_whatever_the_reason_says() {
    let limit = one_an_hour()
        .problem_json()
        .key_by(|_| Err::<&str, _>("a \"quote\", a \\ and a\nnew line"));
    let answer = send(&limit, from("192.0.2.1")).await;
    let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(problem["status"], 400);
    assert_eq!(problem["type"], "about:blank");
    assert_eq!(problem["detail"], "a \"quote\", a \\ and a\nnew line");
}

#[actix_web::test]
async fn a_response_of_ones_own_gets_the_headers_that_it_lacks() {
    let limit = one_an_hour().respond(|refused| {
        let text = match refused {
            Refused::Limited { policy, decision } => {
                let limit = policy.limits()[decision.limit_index].name();
                format!("{limit} says no")
            }
            other => other.to_string(),
        };
        HttpResponse::build(StatusCode::IM_A_TEAPOT).body(text)
    });
    send(&limit, from("192.0.2.1")).await;
    let answer = send(&limit, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (418, "api says no"));
    assert_eq!(answer.header("retry-after").as_deref(), Some("3600"));
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"api\";r=0;t=3600"));
}

/// P24 for one inside another: what the inner one says of its denial is not overwritten by an outer one
/// that allowed.
#[actix_web::test]
async fn an_outer_one_leaves_an_inner_ones_answer_alone() {
    let outer = RateLimit::new(limiter(&clock(), window("outer", 100, 60)));
    let inner = RateLimit::new(limiter(&clock(), quota("inner", "1/hour")));
    let inner = inner.new_transform(Reached).await.unwrap();
    let both = outer.new_transform(inner).await.unwrap();
    let ask = async || read(both.call(from("192.0.2.1").to_srv_request()).await.unwrap()).await;
    assert_eq!(ask().await.status, 200);
    let answer = ask().await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"inner\";r=0;t=3600"));
    let policies = answer.header("ratelimit-policy").unwrap();
    assert_eq!(policies, "\"inner\";q=1;w=3600, \"outer\";q=100;w=60");
}

#[actix_web::test]
async fn errors_of_the_service_inside_are_left_as_they_are() {
    let limit = RateLimit::new(limiter(&clock(), quota("api", "1/hour")));
    let broken = By(async |_: ServiceRequest| Err::<ServiceResponse, _>(ErrorConflict("broken")));
    let service = limit.new_transform(broken).await.unwrap();
    let error = service.call(from("192.0.2.1").to_srv_request()).await.unwrap_err();
    assert_eq!(error.to_string(), "broken");
    let response = error.error_response();
    assert_eq!(response.status(), StatusCode::CONFLICT);
    let answer = service.call(from("192.0.2.1").to_srv_request()).await.unwrap();
    assert_eq!(answer.status(), 429, "the error was counted");
}
