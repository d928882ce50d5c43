//! What lies in the server: its digits, its time to live, and what happens to what is not ours.

use tidegate::{
    Amount, Check, Cost, Key, Limit, Outcome, Policy, Span, Store, StoreErrorKind, Timestamp,
};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;

use crate::fixture::{
    DAY, allowed, bucket, config, fixed, policy, pttl, rolling, sliding, take, units, with_clock,
};

const BUCKET: &str = "tidegate:1:{k}:p:l:token_bucket";
const FIXED: &str = "tidegate:1:{k}:p:l:fixed_window";
const ROLLING: &str = "tidegate:1:{k}:p:l:rolling_window";
const SLIDING: &str = "tidegate:1:{k}:p:l:sliding_window";

const MINUTE: Span = Span::from_secs(60);

/// P37: times keep all their digits, by the server's own clock and in the year 2100.
#[tokio::test]
async fn times_are_written_with_all_their_digits() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let monthly = bucket("1000000/month");
    let mut last = units(0);
    for _ in 0..10 {
        last = take(&store, &monthly, Cost::ONE).await.remaining;
    }
    // Whatever came back in the meantime is far less than one unit.
    assert_eq!(last.as_micros().div_ceil(1_000_000), 999_991, "{last}");
    assert_digits(&server.command(&["GET", BUCKET]));

    let (server, store, clock) = with_clock();
    clock.set(Timestamp::from_secs(4_102_444_800) + Span::from_micros(1));
    for policy in [fixed(9, MINUTE), sliding(9, MINUTE), rolling(9, MINUTE), monthly] {
        take(&store, &policy, Cost::ONE).await;
    }
    let stamp = "4102444800000001";
    assert_eq!(server.command(&["GET", FIXED]), "4102444800000000 1000000");
    assert_eq!(server.command(&["GET", SLIDING]), "4102444800000000 0 1000000");
    let log = server.command(&["LRANGE", ROLLING, "0", "-1"]);
    assert_eq!(log, format!("0\n{stamp}\n1000000"));
    assert!(server.command(&["GET", BUCKET]).starts_with(stamp));
}

fn assert_digits(value: &str) {
    let mut parts = value.split(' ');
    assert!(parts.clone().all(|part| part.bytes().all(|byte| byte.is_ascii_digit())), "{value}");
    assert_eq!(parts.next().map(str::len), Some(16), "{value}");
}

/// P14: a denied cost, even an absurd one, changes neither the state nor its time to live.
#[tokio::test]
async fn a_denied_cost_is_not_charged_and_moves_no_expiry() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let bucket = bucket("1/10s burst 10");
    assert_eq!(take(&store, &bucket, units(8)).await.remaining.whole_units(), 2);
    let (value, ttl) = (server.command(&["GET", BUCKET]), pttl(&server, BUCKET));
    assert!(ttl > 70_000 && ttl <= 81_000, "{ttl}");

    let denied = take(&store, &bucket, units(5)).await;
    let wait = denied.retry_after.unwrap().as_secs_ceil();
    assert!(denied.outcome == Outcome::Deny && wait <= 30 && wait > 20, "{denied:?}");
    let exceeds = take(&store, &bucket, units(1_000_000)).await;
    assert_eq!((exceeds.outcome, exceeds.retry_after), (Outcome::Exceeds, None));

    assert_eq!(server.command(&["GET", BUCKET]), value);
    assert!(pttl(&server, BUCKET) <= ttl);
    assert!(take(&store, &bucket, units(2)).await.is_allowed());
    assert!(pttl(&server, BUCKET) <= 101_000);
}

/// P55 (b): a key that lost its expiry gets one again.
#[tokio::test]
async fn a_key_without_expiry_heals_at_its_next_write() {
    let (server, store, clock) = with_clock();
    for (policy, name) in [
        (bucket("1/minute"), BUCKET),
        (fixed(1, MINUTE), FIXED),
        (rolling(1, MINUTE), ROLLING),
        (sliding(1, MINUTE), SLIDING),
    ] {
        assert_eq!(allowed(&store, &policy, 2).await, 1);
        assert_eq!(server.command(&["PERSIST", name]), "1");
        clock.advance(Span::from_secs(120));
        assert_eq!(allowed(&store, &policy, 1).await, 1, "{name}");
        // Two windows until it is full at most, and the minute that a test's clock adds.
        let ttl = pttl(&server, name);
        assert!(ttl > 60_000 && ttl <= 180_001, "{name}: {ttl}");
    }
}

/// P55 (c): no state goes before it is back to full.
#[tokio::test]
async fn a_spent_hour_is_spent_for_the_hour() {
    let (server, store, clock) = with_clock();
    let hourly = fixed(2, Span::from_secs(3_600));
    assert_eq!(allowed(&store, &hourly, 2).await, 2);
    assert!(pttl(&server, FIXED) > 3_600_000);
    for (second, expected) in [(301, false), (1_800, false), (3_599, false), (3_600, true)] {
        clock.set(DAY + Span::from_secs(second));
        let decision = take(&store, &hourly, Cost::ONE).await;
        assert_eq!(decision.is_allowed(), expected, "at {second} s");
    }
}

/// P12: a client that keeps asking gets what the limit says.
#[tokio::test]
async fn denials_cost_nothing() {
    let (_server, store, clock) = with_clock();
    let policy = rolling(2, Span::from_secs(4));
    let mut passed = Vec::new();
    for second in 0..60 {
        clock.set(DAY + Span::from_secs(second));
        if take(&store, &policy, Cost::ONE).await.is_allowed() {
            passed.push(second);
        }
    }
    let expected: Vec<u64> = (0..60).filter(|second| second % 4 < 2).collect();
    assert_eq!(passed, expected);
}

/// The running sums of a log that never empties start over where doubles end, and nobody notices.
#[tokio::test]
async fn running_sums_wrap_around() {
    let (server, store, clock) = with_clock();
    let policy = rolling(3, MINUTE);
    let now = DAY.as_micros().to_string();
    // One unit was taken just now, and half a unit is left to 2^53.
    let log = ["9007199253240992", &now, "9007199254240992"];
    server.command(&[&["RPUSH", ROLLING], &log[..]].concat());
    clock.advance(Span::from_secs(1));
    assert_eq!(allowed(&store, &policy, 3).await, 2);
    assert_eq!(server.command(&["LINDEX", ROLLING, "-1"]), "1500000");
    let denied = take(&store, &policy, Cost::ONE).await;
    assert_eq!(denied.retry_after, Some(Span::from_secs(59)));
    clock.advance(Span::from_secs(59));
    assert_eq!(allowed(&store, &policy, 2).await, 1);
    assert_eq!(server.command(&["LINDEX", ROLLING, "0"]), "9007199254240992");
}

/// P38: a clock that steps back 20 s or 8 h locks nobody out for longer than a full refill, and gives
/// no more than a burst.
#[tokio::test]
async fn a_clock_stepping_back_neither_locks_out_nor_gives() {
    for back in [20, 8 * 3_600] {
        let (_server, store, clock) = with_clock();
        let policy = bucket("1/s burst 5");
        clock.set(DAY + Span::from_secs(100));
        assert_eq!(allowed(&store, &policy, 3).await, 3);
        let stepped = DAY + Span::from_secs(100) - Span::from_secs(back);
        clock.set(stepped);
        assert_eq!(allowed(&store, &policy, 10).await, 2, "back {back} s");
        let denied = take(&store, &policy, units(5)).await;
        assert!(denied.retry_after.unwrap() <= Span::from_secs(5), "{denied:?}");
        clock.set(stepped + Span::from_secs(5));
        assert!(take(&store, &policy, units(5)).await.is_allowed());
    }
}

/// P38: a key that is only ever denied comes free after a step back too.
#[tokio::test]
async fn a_denial_after_a_step_back_is_stamped() {
    for policy in [
        bucket("5/5s"),
        fixed(5, Span::from_secs(5)),
        rolling(5, Span::from_secs(5)),
        sliding(5, Span::from_secs(5)),
    ] {
        let (_server, store, clock) = with_clock();
        assert_eq!(allowed(&store, &policy, 6).await, 5);
        let stepped = DAY - Span::from_secs(8 * 3_600);
        clock.set(stepped);
        assert_eq!(allowed(&store, &policy, 3).await, 0);
        // The sliding window weighs its last window for one more.
        clock.set(stepped + Span::from_secs(10));
        assert_eq!(allowed(&store, &policy, 6).await, 5, "{policy:?}");
    }
}

/// P38: a clock that trembles over a window's edge opens no second window.
#[tokio::test]
async fn a_trembling_clock_opens_one_window_more_at_most() {
    let (_server, store, clock) = with_clock();
    let policy = fixed(5, MINUTE);
    let mut passed = 0;
    for turn in 0..100 {
        let millis = if turn % 2 == 0 { 59_900 } else { 60_100 };
        clock.set(DAY + Span::from_millis(millis));
        passed += allowed(&store, &policy, 1).await;
    }
    assert!(passed <= 10, "{passed}");
}

/// P31: costs at the ends of their type neither mint nor break.
#[tokio::test]
async fn absurd_costs_exceed_and_absurd_debits_are_bounded() {
    let (_server, store, clock) = with_clock();
    let largest = Amount::from_micros((1 << 52) - 1);
    for policy in [
        bucket("5/5s"),
        fixed(5, MINUTE),
        rolling(5, MINUTE),
        sliding(5, MINUTE),
        policy([Limit::rolling_window("l", largest, MINUTE).unwrap()]),
        policy([Limit::sliding_window("l", largest, MINUTE).unwrap()]),
    ] {
        let max = policy.limits()[0].algorithm().max();
        let check = |cost| Check::take(Key::new("k").unwrap(), &policy, cost);
        store.reset(&[check(Cost::ZERO)]).await.unwrap();
        let exceeds = take(&store, &policy, Cost::MAX).await;
        assert_eq!((exceeds.outcome, exceeds.remaining), (Outcome::Exceeds, max));
        assert_eq!(take(&store, &policy, Cost::ZERO).await.remaining, max);
        let debit = Check::debit(Key::new("k").unwrap(), &policy, Cost::MAX);
        for _ in 0..3 {
            store.take(&[debit]).await.unwrap();
        }
        assert!(!take(&store, &policy, Cost::ONE).await.is_allowed());
        clock.advance(Span::from_secs(180));
        assert_eq!(take(&store, &policy, Cost::ZERO).await.remaining, max, "{policy:?}");
    }
}

/// What counts for nothing after the first of two refunds in one call is gone for the second, as it is
/// in memory, and a clock that steps back does not bring it back.
#[tokio::test]
async fn refunds_in_one_call_follow_one_another() {
    let (server, store, clock) = with_clock();
    let policy = sliding(6, Span::from_secs(10));
    assert!(take(&store, &policy, units(6)).await.is_allowed());
    clock.set(DAY + Span::from_secs(17));
    let part = |cost| Check::take(Key::new("k").unwrap(), &policy, cost);
    let half = Amount::from_micros(500_000);
    store.refund(&[part(units(4)), part(half)], DAY).await.unwrap();
    assert_eq!(server.command(&["EXISTS", SLIDING]), "0");
    clock.set(DAY - Span::from_secs(8 * 3_600));
    assert_eq!(take(&store, &policy, Cost::ZERO).await.remaining, units(6));
}

/// Data that is not ours is an error of its own kind, and stays as it is, whatever is asked.
#[tokio::test]
async fn foreign_data_is_refused_and_left_alone() {
    let (server, store, _) = with_clock();
    let buckets = [
        (bucket("5/s"), BUCKET, "1 2"),
        (fixed(5, MINUTE), FIXED, "1 2 3"),
        (sliding(5, MINUTE), SLIDING, "1 2 99999999999999999999"),
    ];
    for (policy, name, near_miss) in &buckets {
        for text in ["", "hello", "-1 2 3", "1e3 2 3", " 1 2 3", "1 2 3 ", near_miss] {
            server.command(&["SET", name, text]);
            assert_refused(&store, policy).await;
            assert_eq!(server.command(&["GET", name]), text);
        }
        server.command(&["DEL", name]);
        server.command(&["HSET", name, "field", "1"]);
        assert_refused(&store, policy).await;
        assert_eq!(server.command(&["HGETALL", name]), "field\n1");
    }
}

/// The same for the rolling window's list.
#[tokio::test]
async fn foreign_lists_are_refused_and_left_alone() {
    let (server, store, _) = with_clock();
    let policy = rolling(5, MINUTE);
    for elements in
        [&["0"][..], &["0", "5"], &["0", "x", "5"], &["0", "1", "2", "3"], &["a", "b", "c"]]
    {
        server.command(&["DEL", ROLLING]);
        server.command(&[&["RPUSH", ROLLING], elements].concat());
        assert_refused(&store, &policy).await;
        assert_eq!(server.command(&["LRANGE", ROLLING, "0", "-1"]), elements.join("\n"));
    }
    server.command(&["SET", ROLLING, "mine"]);
    assert_refused(&store, &policy).await;
    assert_eq!(server.command(&["GET", ROLLING]), "mine");
}

/// Every operation refuses, and a batch in which one key is foreign takes nothing from the others.
async fn assert_refused(store: &RedisStore, policy: &Policy) {
    let foreign = Check::take(Key::new("k").unwrap(), policy, Cost::ONE);
    let other = Check::take(Key::new("other").unwrap(), policy, units(5));
    let kind = |error: tidegate::StoreError| {
        assert!(!error.to_string().contains("{k}"), "{error} names the key");
        error.kind()
    };
    let refused = Some(StoreErrorKind::ForeignData);
    assert_eq!(store.take(&[other, foreign]).await.map_err(kind).err(), refused);
    assert_eq!(store.take_each(&[other, foreign]).await.map_err(kind).err(), refused);
    assert_eq!(store.refund(&[foreign], DAY).await.map_err(kind).err(), refused);
    assert_eq!(store.reset(&[foreign]).await.map_err(kind).err(), refused);
    assert!(store.take(&[other.with_mode(tidegate::Mode::Peek)]).await.unwrap().is_allowed());
}
