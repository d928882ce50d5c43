//! `POST /v1/check`.

use serde_json::json;
use tidegate::Span;

use crate::harness::{bucket, start};

#[tokio::test]
async fn an_answer_has_every_field_and_exact_numbers() {
    let server = start([bucket("api", "10/s burst 50")]).await;
    let reply = server.check(r#"{"key":"alice","policy":"api","cost":1}"#).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let expected = json!({
        "outcome": "allow", "allowed": true, "policy": "api", "limit_name": "only",
        "limit": 50, "remaining": 49, "retry_after_ms": null, "reset_after_ms": 100,
        "degraded": false,
    });
    assert_eq!(reply.json(), expected);
    let reply = server.check(r#"{"key":"alice","policy":"api","cost":"0.000001"}"#).await;
    assert!(reply.body.contains(r#""remaining":48.999999,"#), "{}", reply.body);
}

#[tokio::test]
async fn a_denial_is_a_200_with_the_wait_in_milliseconds() {
    let server = start([bucket("default", "8000/s")]).await;
    assert_eq!(server.check(r#"{"key":"a","cost":8000}"#).await.json()["allowed"], true);
    let denied = server.check(r#"{"key":"a"}"#).await;
    assert_eq!(denied.status, 200);
    let json = denied.json();
    assert_eq!(json["outcome"], "deny");
    // P33: 125 microseconds, rounded up.
    assert_eq!(json["retry_after_ms"], 1);
    let never = server.check(r#"{"key":"a","cost":8001}"#).await.json();
    assert_eq!((&never["outcome"], &never["retry_after_ms"]), (&json!("exceeds"), &json!(null)));
}

#[tokio::test]
async fn a_cost_of_zero_looks_and_takes_nothing() {
    let server = start([bucket("default", "1/hour")]).await;
    for _ in 0..3 {
        let look = server.check(r#"{"key":"a","cost":0}"#).await.json();
        assert_eq!((&look["allowed"], &look["remaining"]), (&json!(true), &json!(1)));
    }
    // Even when it says that it debits.
    server.check(r#"{"key":"a","cost":0,"debit":true}"#).await;
    assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["allowed"], true);
    assert_eq!(server.check(r#"{"key":"a","cost":0}"#).await.json()["remaining"], 0);
}

#[tokio::test]
async fn a_debit_is_charged_below_zero_and_repaid() {
    let server = start([bucket("default", "1/s burst 5")]).await;
    let debit = server.check(r#"{"key":"a","cost":4,"debit":true}"#).await.json();
    assert_eq!(debit["remaining"], 1);
    let debit = server.check(r#"{"key":"a","cost":4,"debit":true}"#).await.json();
    assert_eq!((&debit["allowed"], &debit["remaining"]), (&json!(false), &json!(0)));
    assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["retry_after_ms"], 4_000);
    server.clock.advance(Span::from_secs(4));
    assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["allowed"], true);
}

#[tokio::test]
async fn all_or_nothing_takes_nothing_when_one_is_denied() {
    let server = start([bucket("default", "2/hour"), bucket("one", "1/hour")]).await;
    assert_eq!(server.check(r#"{"key":"b","policy":"one"}"#).await.json()["allowed"], true);
    let both = r#"{"checks":[{"key":"a"},{"key":"b","policy":"one"}]}"#;
    let denied = server.check(both).await.json();
    assert_eq!((&denied["allowed"], &denied["governing"]), (&json!(false), &json!(1)));
    assert_eq!(denied["decisions"].as_array().map(Vec::len), Some(2));
    assert_eq!(denied["decisions"][1]["outcome"], "deny");
    assert_eq!(server.check(r#"{"key":"a","cost":0}"#).await.json()["remaining"], 2);
}

#[tokio::test]
async fn each_takes_what_it_can() {
    let server = start([bucket("default", "2/hour")]).await;
    let checks = r#"{"mode":"each","checks":[{"key":"a"},{"key":"b","cost":2},{"key":"a","cost":"1"},{"key":"a"}]}"#;
    let answer = server.check(checks).await.json();
    let allowed: Vec<_> = answer["decisions"]
        .as_array()
        .expect("decisions")
        .iter()
        .map(|one| &one["allowed"])
        .collect();
    assert_eq!(allowed, [true, true, true, false]);
    assert_eq!((&answer["allowed"], &answer["governing"]), (&json!(false), &json!(3)));
}

#[tokio::test]
async fn a_thousand_checks_fit_one_body() {
    let server = start([bucket("default", "1/hour")]).await;
    let key = |at: usize| format!(r#"{{"key":"{at:01024}"}}"#);
    let checks: Vec<String> = (0..1_000).map(key).collect();
    let body = format!(r#"{{"checks":[{}]}}"#, checks.join(","));
    let answer = server.check(&body).await.json();
    assert_eq!(answer["allowed"], true);
    assert_eq!(answer["decisions"].as_array().map(Vec::len), Some(1_000));
}

#[tokio::test]
async fn a_key_is_the_same_however_it_is_written() {
    let server = start([bucket("default", "1/hour")]).await;
    assert_eq!(server.check("{\"key\":\"\u{e9}\"}").await.json()["allowed"], true);
    assert_eq!(server.check(r#" { "key" : "\u00e9" } "#).await.json()["allowed"], false);
    assert_eq!(server.limit(&[("X-Client-Key", "\u{e9}")]).await.status, 429);
}
