//! What the observer writes.

use std::sync::Arc;

use tidegate::{
    Amount, Check, Cost, Key, Limit, Limiter, MemoryStore, Observer, Outcome, Policy, Span,
    StoreError, StoreErrorKind,
};
use tidegate_metrics::{Format, PrometheusObserver};

fn policy(name: &str) -> Policy {
    Policy::new(name, [Limit::quota("burst", "2/hour").expect("a limit")]).expect("a policy")
}

/// The value of a sample.
fn value(page: &str, sample: &str) -> Option<String> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.map(str::to_owned)
}

#[test]
fn decisions_are_counted_by_result_and_by_the_limit_that_governed() {
    let metrics = Arc::new(PrometheusObserver::new());
    let limiter =
        Limiter::new(MemoryStore::new(), policy("api")).with_observer(Arc::clone(&metrics));
    for _ in 0..3 {
        limiter.check("alice").expect("a key");
    }
    limiter.check_cost("alice", Amount::from_units(3)).expect("a key");
    limiter.peek("alice", Cost::ONE).expect("a key");
    let page = metrics.write(Format::Text);
    let count = |sample: &str| value(&page, sample);
    let two = || Some("2".to_owned());
    assert_eq!(count("ratelimiter_decisions_total{result=\"allowed\"}"), two());
    assert_eq!(count("ratelimiter_decisions_total{result=\"denied\"}"), two());
    let of = "ratelimiter_policy_decisions_total{policy=\"api\",limit=\"burst\",result";
    assert_eq!(count(&format!("{of}=\"allowed\"}}")), two());
    assert_eq!(count(&format!("{of}=\"denied\"}}")), two());
    assert_eq!(count("ratelimiter_decision_duration_seconds_count{result=\"allowed\"}"), two());
}

#[test]
fn a_failure_of_the_store_is_an_error_of_its_kind() {
    let metrics = PrometheusObserver::new();
    let api = policy("api");
    let check = Check::take(Key::new("a").expect("a key"), &api, Cost::ONE);
    let error = StoreError::new(StoreErrorKind::Timeout, "late");
    metrics.answered(&[check, check], Err(&error), Span::from_millis(50));
    let page = metrics.write(Format::OpenMetrics);
    let count = |sample: &str| value(&page, sample).expect("a sample");
    assert_eq!(count("ratelimiter_decisions_total{result=\"errored\"}"), "2");
    assert_eq!(count("ratelimiter_store_errors_total{kind=\"timeout\"}"), "1");
    let of = "ratelimiter_policy_decisions_total{policy=\"api\",limit=\"\",result=\"errored\"}";
    assert_eq!(count(of), "2");
    assert!(page.ends_with("# EOF\n"));
}

#[test]
fn a_policy_named_at_the_start_has_all_its_series_at_zero() {
    let page = PrometheusObserver::new().with_policy(&policy("api")).write(Format::Text);
    for labels in [
        "limit=\"burst\",result=\"allowed\"",
        "limit=\"burst\",result=\"denied\"",
        "limit=\"\",result=\"errored\"",
    ] {
        let sample = format!("ratelimiter_policy_decisions_total{{policy=\"api\",{labels}}}");
        assert_eq!(value(&page, &sample).as_deref(), Some("0"), "{sample}");
    }
}

/// P66: whatever a program makes up, the page stays small and the sums stay right.
#[test]
fn too_many_policies_are_counted_together() {
    let metrics = PrometheusObserver::new();
    for number in 0..5_000 {
        let policy = policy(&format!("made-up-{number}"));
        let limit = policy.limits().first();
        metrics.decision(&policy, limit, Ok(Outcome::Allow), Span::from_micros(1));
    }
    let page = metrics.write(Format::Text);
    let series =
        page.lines().filter(|line| line.starts_with("ratelimiter_policy_decisions_total{"));
    let counts: Vec<u64> = series
        .map(|line| line.rsplit(' ').next().expect("a value").parse().expect("a number"))
        .collect();
    assert!(counts.len() < 900, "{} series", counts.len());
    assert_eq!(counts.iter().sum::<u64>(), 5_000);
    assert_eq!(
        value(&page, "ratelimiter_decisions_total{result=\"allowed\"}").as_deref(),
        Some("5000")
    );
}

#[test]
fn no_count_is_lost_between_threads() {
    let metrics = PrometheusObserver::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..1_000 {
                    let policy = policy(&format!("policy-{}", number % 10));
                    let limit = policy.limits().first();
                    metrics.decision(&policy, limit, Ok(Outcome::Allow), Span::from_micros(1));
                }
            });
        }
    });
    let page = metrics.write(Format::Text);
    for number in 0..10 {
        let labels = format!("policy=\"policy-{number}\",limit=\"burst\",result=\"allowed\"");
        let sample = format!("ratelimiter_policy_decisions_total{{{labels}}}");
        assert_eq!(value(&page, &sample).as_deref(), Some("800"));
    }
}
