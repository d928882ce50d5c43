//! `GET /metrics`.

use tidegate::MemoryConfig;
use tidegate_server::backend::Backend;
use tidegate_server::proto::v1::AllowRequest;
use tidegate_server::settings::StoreSettings;

use crate::harness::{Running, bucket, settings, start, start_over};

/// The value of one series, by its full text.
async fn value(server: &Running, series: &str) -> f64 {
    let page = server.scrape(&[]).await.body;
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} in\n{page}")).parse().expect("a number")
}

#[tokio::test]
async fn every_series_is_there_from_the_start() {
    let server = start([bucket("default", "1/hour")]).await;
    for series in [
        "ratelimiter_decisions_total{result=\"allowed\"}",
        "ratelimiter_decisions_total{result=\"denied\"}",
        "ratelimiter_decisions_total{result=\"errored\"}",
        "ratelimiter_decision_duration_seconds_bucket{result=\"errored\",le=\"1e-06\"}",
        "ratelimiter_decision_duration_seconds_bucket{result=\"denied\",le=\"0.0005\"}",
        "ratelimiter_decision_duration_seconds_bucket{result=\"allowed\",le=\"2\"}",
        "ratelimiter_decision_duration_seconds_bucket{result=\"allowed\",le=\"+Inf\"}",
        "ratelimiter_decision_duration_seconds_sum{result=\"allowed\"}",
        "ratelimiter_decision_duration_seconds_count{result=\"allowed\"}",
        "ratelimiter_policy_decisions_total{policy=\"default\",limit=\"only\",result=\"denied\"}",
        "ratelimiter_policy_decisions_total{policy=\"default\",limit=\"\",result=\"errored\"}",
        "ratelimiter_bad_requests_total{face=\"grpc\",reason=\"cost\"}",
        "ratelimiter_store_errors_total{kind=\"timeout\"}",
        "ratelimiter_degraded_decisions_total{stance=\"allow\"}",
        "ratelimiter_keys",
        "ratelimiter_overflow_total",
    ] {
        assert_eq!(value(&server, series).await, 0.0, "{series}");
    }
    let build = format!("ratelimiter_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&server, &build).await, 1.0);
}

#[tokio::test]
async fn checks_are_counted_and_looks_are_not() {
    let server = start([bucket("default", "3/hour")]).await;
    server.check(r#"{"key":"a","cost":0}"#).await;
    server.limit(&[("X-Client-Key", "a")]).await;
    server.check(r#"{"mode":"each","checks":[{"key":"a"},{"key":"a"},{"key":"a"}]}"#).await;
    let request = AllowRequest { key: "a".into(), ..AllowRequest::default() };
    server.grpc().await.allow(request).await.expect("an answer");
    for (result, count) in [("allowed", 3.0), ("denied", 2.0), ("errored", 0.0)] {
        let series = format!("ratelimiter_decisions_total{{result=\"{result}\"}}");
        assert_eq!(value(&server, &series).await, count, "{result}");
        let series = format!("ratelimiter_decision_duration_seconds_count{{result=\"{result}\"}}");
        assert_eq!(value(&server, &series).await, count, "{result}");
    }
    let series =
        "ratelimiter_policy_decisions_total{policy=\"default\",limit=\"only\",result=\"denied\"}";
    assert_eq!(value(&server, series).await, 2.0);
}

/// A debit is charged in any case, and one that goes below zero keeps nobody from taking.
#[tokio::test]
async fn a_take_beside_a_denied_debit_counts_as_allowed() {
    let server = start([bucket("default", "1/hour")]).await;
    server.limit(&[("X-Client-Key", "used")]).await;
    let batch = r#"{"checks":[{"key":"used","debit":true},{"key":"a"}]}"#;
    let answer = server.check(batch).await.json();
    assert_eq!([0, 1].map(|place| answer["decisions"][place]["allowed"] == true), [false, true]);
    // It was taken.
    assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["allowed"], false);
    for (result, count) in [("allowed", 2.0), ("denied", 2.0)] {
        let series = format!("ratelimiter_decisions_total{{result=\"{result}\"}}");
        assert_eq!(value(&server, &series).await, count, "{result}");
    }
}

/// What was not taken is not counted as allowed: all or nothing is all denied.
#[tokio::test]
async fn a_denied_batch_counts_as_denied_whole() {
    let server = start([bucket("default", "1/hour"), bucket("wide", "9/hour")]).await;
    server.limit(&[("X-Client-Key", "used")]).await;
    let wide = r#"{"key":"a","policy":"wide"}"#;
    let batch = format!(r#"{{"checks":[{wide},{{"key":"used"}},{{"key":"a","cost":0}}]}}"#);
    assert_eq!(server.check(&batch).await.json()["decisions"][0]["allowed"], true);
    for (result, count) in [("allowed", 1.0), ("denied", 2.0)] {
        let series = format!("ratelimiter_decisions_total{{result=\"{result}\"}}");
        assert_eq!(value(&server, &series).await, count, "{result}");
    }
    let wide = |result: &str| {
        let labels = format!("policy=\"wide\",limit=\"only\",result=\"{result}\"");
        format!("ratelimiter_policy_decisions_total{{{labels}}}")
    };
    assert_eq!(value(&server, &wide("denied")).await, 1.0);
    assert_eq!(value(&server, &wide("allowed")).await, 0.0);
    // Each on its own takes what passes; and a debit is charged whatever becomes of the others.
    let each = batch.replacen('{', r#"{"mode":"each","#, 1);
    server.check(&each).await;
    assert_eq!(value(&server, &wide("allowed")).await, 1.0);
    let debit = r#"{"checks":[{"key":"a","policy":"wide","debit":true},{"key":"used"}]}"#;
    server.check(debit).await;
    assert_eq!(value(&server, &wide("allowed")).await, 2.0);
}

/// The store of this process, as it is chosen by settings: its keys are bounded, and those that find
/// no room are counted, whether they come together or each on its own.
#[tokio::test]
async fn keys_and_those_without_room_are_seen() {
    let mut settings = settings([bucket("default", "1/hour")]);
    settings.store = StoreSettings::Memory(MemoryConfig { max_keys: 8, ..MemoryConfig::default() });
    let server = start_over(&settings, Backend::of(&settings.store)).await;
    let keys = async || value(&server, "ratelimiter_keys").await;
    let overflowed = async || value(&server, "ratelimiter_overflow_total").await;
    assert_eq!((keys().await, overflowed().await), (0.0, 0.0));
    assert_eq!(server.limit(&[("X-Client-Key", "first")]).await.status, 200);
    assert_eq!((keys().await, overflowed().await), (1.0, 0.0));
    let batch = |mode: &str| {
        let checks: Vec<String> = (0..50).map(|at| format!(r#"{{"key":"{mode}{at}"}}"#)).collect();
        format!(r#"{{"mode":"{mode}","checks":[{}]}}"#, checks.join(","))
    };
    let mut before = 0.0;
    for mode in ["each", "all"] {
        assert_eq!(server.check(&batch(mode)).await.status, 200);
        let (held, without_room) = (keys().await, overflowed().await);
        assert!((1.0..=8.0).contains(&held), "{held} keys");
        assert!(without_room >= before + 42.0, "{without_room} without room, {before} before");
        before = without_room;
    }
    // The first key has its place still.
    assert_eq!(server.limit(&[("X-Client-Key", "first")]).await.status, 429);
}

#[tokio::test]
async fn mistakes_are_counted_by_face_and_reason() {
    let server = start([bucket("default", "1/hour")]).await;
    server.limit(&[]).await;
    server.check(r#"{"key":"a","cost":-1}"#).await;
    let request = AllowRequest { key: "a".into(), policy: "x".into(), ..AllowRequest::default() };
    server.grpc().await.allow(request).await.expect_err("a mistake");
    for (face, reason) in [("rest", "key"), ("rest", "cost"), ("grpc", "policy")] {
        let series =
            format!("ratelimiter_bad_requests_total{{face=\"{face}\",reason=\"{reason}\"}}");
        assert_eq!(value(&server, &series).await, 1.0, "{series}");
    }
    assert_eq!(value(&server, "ratelimiter_decisions_total{result=\"errored\"}").await, 0.0);
}

/// P66: what is scraped depends on the policies, never on the keys.
#[tokio::test]
async fn keys_make_no_series() {
    let server = start([bucket("default", "1/hour"), bucket("a.b-c_d", "1/hour")]).await;
    let before = server.scrape(&[]).await.body.lines().count();
    for batch in 0..20 {
        let checks: Vec<String> =
            (0..1_000).map(|at| format!(r#"{{"key":"{batch}.{at}\n\"é"}}"#)).collect();
        let body = format!(r#"{{"mode":"each","checks":[{}]}}"#, checks.join(","));
        assert_eq!(server.check(&body).await.status, 200);
    }
    let page = server.scrape(&[]).await.body;
    assert_eq!(page.lines().count(), before);
    assert!(before < 1_000 && page.len() < 1_000_000);
}

#[tokio::test]
async fn the_format_is_what_was_asked_for() {
    let server = start([bucket("default", "1/hour")]).await;
    let text = server.scrape(&[]).await;
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(text.body.contains("# TYPE ratelimiter_decisions_total counter\n"));
    let open = server.scrape(&[("Accept", "application/openmetrics-text; version=1.0.0")]).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), Some(kind));
    assert!(open.body.ends_with("# EOF\n"));
}

/// Every line is a comment of the format or a sample, and buckets only grow.
#[tokio::test]
async fn the_text_is_well_formed() {
    let server = start([bucket("default", "1/hour")]).await;
    server.limit(&[("X-Client-Key", "a")]).await;
    let page = server.scrape(&[]).await.body;
    let mut last = (String::new(), 0.0);
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            assert!(comment.starts_with("HELP ") || comment.starts_with("TYPE "), "{line}");
            continue;
        }
        let (series, number) = line.rsplit_once(' ').expect("a sample");
        let number: f64 = number.parse().expect("a number");
        let name = series.split('{').next().unwrap_or_default();
        assert!(name.starts_with("ratelimiter_"), "{line}");
        assert_eq!(series.contains('{'), series.ends_with("\"}"), "{line}");
        let stem = series.split(",le=").next().unwrap_or_default().to_owned();
        if series.contains("_bucket{") {
            assert!(last.0 != stem || number >= last.1, "{line}");
            last = (stem, number);
        }
    }
}
