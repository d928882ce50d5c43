//! What passes and what is denied, and when to come back.

use std::sync::Arc;

use tidegate::{Amount, Limit, Policy, Span};
use tidegate_tower::{Charge, Extractor, PeerIp, RateLimitLayer};

use crate::fixture::{clock, from, limiter, passed, quota, send, statuses, window};

#[tokio::test]
async fn the_limit_passes_and_the_next_is_denied_until_its_wait_is_over() {
    let clock = clock();
    let layer = RateLimitLayer::new(limiter(&clock, quota("api", "2 per 10s")));
    for remaining in [1, 0] {
        let answer = send(&layer, from("192.0.2.1")).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "reached"));
        let state = answer.header("ratelimit").unwrap();
        assert!(state.starts_with(&format!("\"api\";r={remaining};t=")), "{state}");
        assert_eq!(answer.header("ratelimit-policy").as_deref(), Some("\"api\";q=2;w=10"));
        assert_eq!(answer.header("retry-after"), None);
    }
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (429, "rate limit exceeded\n"));
    assert_eq!(answer.header("retry-after").as_deref(), Some("5"));
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"api\";r=0;t=5"));
    assert_eq!(answer.header("content-type").as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(send(&layer, from("192.0.2.2")).await.status, 200, "another peer");
    clock.advance(Span::from_secs(5));
    assert_eq!(send(&layer, from("192.0.2.1")).await.status, 200);
}

/// P22: a wait under a second is a second, a fraction is rounded up, and a client that waits as told
/// passes.
#[tokio::test]
async fn retry_after_is_never_too_early() {
    for (limit, used, wait) in [("5 per 1s", 5, "1"), ("1 per 1500ms", 1, "2")] {
        let clock = clock();
        let layer = RateLimitLayer::new(limiter(&clock, quota("api", limit)));
        assert_eq!(passed(&statuses(&layer, used, || from("192.0.2.1")).await), used);
        clock.advance(Span::from_millis(100));
        let answer = send(&layer, from("192.0.2.1")).await;
        assert_eq!(answer.status, 429, "{limit}");
        let told = answer.header("retry-after").unwrap();
        assert_eq!(told, wait, "{limit}");
        clock.advance(Span::from_secs(told.parse().unwrap()));
        assert_eq!(send(&layer, from("192.0.2.1")).await.status, 200, "{limit}");
    }
}

/// P23: what is left of the window, in seconds, in every dialect.
#[tokio::test]
async fn the_wait_is_what_is_left_of_the_window_in_seconds() {
    let clock = clock();
    let layer = RateLimitLayer::new(limiter(&clock, window("api", 5, 60)))
        .headers(tidegate::HeaderDialect::Both);
    assert_eq!(passed(&statuses(&layer, 5, || from("192.0.2.1")).await), 5);
    clock.advance(Span::from_secs(50));
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!(answer.header("retry-after").as_deref(), Some("10"));
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"api\";r=0;t=10"));
    assert_eq!(answer.header("x-ratelimit-reset").as_deref(), Some("10"));
}

/// P24: the answer is that of the limit that denied, not of one that passed.
#[tokio::test]
async fn a_denial_speaks_of_the_limit_that_denied() {
    let clock = clock();
    let minute = window("R", 60, 60).limits()[0].clone();
    let hour = window("B", 1_000, 3_600).limits()[0].clone();
    let requests = Policy::new("requests", [minute]).unwrap();
    let bytes = Policy::new("bytes", [hour]).unwrap();
    let shared = Arc::new(limiter(&clock, requests));
    let at_cost = |cost: u64| {
        RateLimitLayer::new(Arc::clone(&shared))
            .and(bytes.clone(), PeerIp::default().cost(move |_| cost))
    };
    // Where an hour begins.
    let start = tidegate::Timestamp::from_secs(1_000_000_800);
    clock.set(start);
    assert_eq!(send(&at_cost(1_000), from("192.0.2.1")).await.status, 200);
    clock.set(start + Span::from_secs(600));
    let answer = send(&at_cost(1), from("192.0.2.1")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after").as_deref(), Some("3000"));
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"B\";r=0;t=3000"));
    let policies = answer.header("ratelimit-policy").unwrap();
    assert_eq!(policies, "\"R\";q=60;w=60, \"B\";q=1000;w=3600");
}

/// P64: N per period is N at once, and N per period.
#[tokio::test]
async fn a_number_per_period_is_that_many_per_period() {
    for (limit, offered, passes) in
        [("4000 per second", 4_001, 4_000), ("5 per second", 10, 5), ("6 per minute", 7, 6)]
    {
        let clock = clock();
        let layer = RateLimitLayer::new(limiter(&clock, quota("api", limit)));
        let count = passed(&statuses(&layer, offered, || from("192.0.2.1")).await);
        assert_eq!(count, passes, "{limit}");
    }
    let clock = clock();
    let layer = RateLimitLayer::new(limiter(&clock, quota("api", "4000 per second")));
    let mut count = 0;
    for _ in 0..8_000 {
        count += usize::from(send(&layer, from("192.0.2.1")).await.status == 200);
        clock.advance(Span::from_micros(250));
    }
    assert_eq!(count, 8_000, "8000 offered over 2 s, evenly");
}

#[tokio::test]
async fn several_limits_of_a_policy_are_all_or_nothing() {
    let clock = clock();
    let limits = [Limit::quota("minute", "3/minute"), Limit::quota("hour", "5/hour")];
    let policy = Policy::new("api", limits.map(Result::unwrap)).unwrap();
    let layer = RateLimitLayer::new(limiter(&clock, policy));
    assert_eq!(passed(&statuses(&layer, 6, || from("192.0.2.1")).await), 3);
    clock.advance(Span::from_secs(60));
    let answer = send(&layer, from("192.0.2.1")).await;
    assert!(answer.header("ratelimit").unwrap().starts_with("\"hour\";r=1;"), "{answer:?}");
}

/// P13 over several keys: what one of them denies, the others are not charged for.
#[tokio::test]
async fn several_keys_are_all_or_nothing() {
    let clock = clock();
    let shared = Arc::new(limiter(&clock, window("group", 10, 60)));
    let group = RateLimitLayer::new(Arc::clone(&shared)).key("group");
    let special = group.clone().and(window("special", 3, 60), PeerIp::default());
    assert_eq!(passed(&statuses(&special, 5, || from("192.0.2.1")).await), 3);
    assert_eq!(passed(&statuses(&group, 8, || from("192.0.2.1")).await), 7);
}

#[tokio::test]
async fn a_request_costs_what_the_function_says() {
    let clock = clock();
    let layer = RateLimitLayer::new(limiter(&clock, quota("api", "10/hour"))).cost(|request| {
        request.headers().get("cost").map_or("1", |v| v.to_str().unwrap()).parse::<Amount>()
    });
    let at = |cost: &'static str| {
        let layer = layer.clone();
        async move { send(&layer, crate::fixture::with("192.0.2.1", &[("cost", cost)])).await }
    };
    assert_eq!(at("7.5").await.status, 200);
    assert_eq!(at("2.6").await.status, 429);
    assert_eq!(at("2.5").await.status, 200);
    let answer = at("-1").await;
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(at("0").await.status, 200, "asks nothing");
}

/// P30: what can never pass is not told to come back.
#[tokio::test]
async fn a_cost_above_the_limit_exceeds_and_takes_nothing() {
    let clock = clock();
    let layer = RateLimitLayer::new(limiter(&clock, quota("api", "3 per 2s"))).cost(|_| 4_u32);
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (429, "cost exceeds limit\n"));
    assert_eq!(answer.header("retry-after"), None);
    let whole = RateLimitLayer::new(limiter(&clock, quota("api", "3 per 2s"))).cost(|_| 3_u32);
    assert_eq!(passed(&statuses(&whole, 2, || from("192.0.2.1")).await), 1);
}

#[tokio::test]
async fn a_key_may_come_with_limits_of_its_own() {
    let clock = clock();
    let gold = Arc::new(quota("gold", "5/hour"));
    let layer =
        RateLimitLayer::new(limiter(&clock, quota("free", "1/hour"))).key_by(move |request| {
            match request.headers().get("plan") {
                Some(plan) if plan == "gold" => Charge::key("user").under(Arc::clone(&gold)),
                Some(plan) if plan == "none" => Charge::skip(),
                Some(_) => Charge::reject("no such plan"),
                None => Charge::key("user"),
            }
        });
    let plan = |plan| move || crate::fixture::with("192.0.2.1", &[("plan", plan)]);
    assert_eq!(passed(&statuses(&layer, 3, || from("192.0.2.1")).await), 1);
    assert_eq!(passed(&statuses(&layer, 7, plan("gold")).await), 5);
    assert_eq!(passed(&statuses(&layer, 7, plan("none")).await), 7);
    let answer = send(&layer, plan("silver")()).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, "no such plan\n"));
}

#[tokio::test]
async fn layers_over_one_store_are_apart_by_the_names_of_their_policies() {
    let clock = clock();
    let shared = Arc::new(limiter(&clock, quota("read", "3/hour")));
    let read = RateLimitLayer::new(Arc::clone(&shared));
    let write = read.clone().policy(quota("write", "1/hour"));
    assert_eq!(passed(&statuses(&write, 2, || from("192.0.2.1")).await), 1);
    assert_eq!(passed(&statuses(&read, 4, || from("192.0.2.1")).await), 3);
    shared.reset("192.0.2.1").unwrap();
    assert_eq!(send(&read, from("192.0.2.1")).await.status, 200, "the limiter is shared");
}

/// A cost that makes no sense is no way around the limit, nor to another's.
#[tokio::test]
async fn a_cost_that_cannot_be_found_is_refused_whatever_the_fallback() {
    let api = || RateLimitLayer::new(limiter(&clock(), quota("api", "10/hour")));
    let priced =
        || PeerIp::default().cost(|_: &tidegate_tower::RequestHead<'_>| "many".parse::<Amount>());
    let skipping = api().key(priced().or_skip());
    assert_eq!(send(&skipping, from("192.0.2.1")).await.status, 400);
    let falling_back = api().key(priced().or("all"));
    assert_eq!(send(&falling_back, from("192.0.2.1")).await.status, 400);
}

#[tokio::test]
async fn another_key_does_not_forget_the_cost() {
    let four = |_: &tidegate_tower::RequestHead<'_>| 4_u32;
    let layers = || RateLimitLayer::new(limiter(&clock(), quota("api", "10/hour")));
    let (before, after) = (layers().cost(four).key("all"), layers().key("all").cost(four));
    for _ in 0..2 {
        assert_eq!(send(&before, from("192.0.2.1")).await.status, 200);
        assert_eq!(send(&after, from("192.0.2.1")).await.status, 200);
    }
    assert_eq!(send(&before, from("192.0.2.1")).await.status, 429);
    assert_eq!(send(&after, from("192.0.2.1")).await.status, 429);
}
