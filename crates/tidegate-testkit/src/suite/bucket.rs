//! What a token bucket lets through.

use tidegate::{Amount, Limit, Span};

use super::Claim;
use super::stage::{Stage, allowed, bucket, millis, only, secs, units};
use crate::rig::Rig;

claims![
    denied_cost_is_not_charged,
    bucket_refills_while_it_is_being_hit,
    bucket_gives_no_second_burst_at_a_boundary,
    cost_equal_to_capacity_passes_when_full,
    long_idle_fills_the_bucket_and_overflows_nothing,
    burst_of_one_limits,
    idle_time_earns_no_more_than_a_burst,
    remaining_is_right_at_any_clock,
    rate_means_count_per_its_own_period,
    sustained_throughput_is_the_rate,
];

/// P14: a denied cost, however large, leaves the bucket as it was.
fn denied_cost_is_not_charged<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("10", "1", secs(10)));
    assert_eq!(stage.take(&policy, "a", "8").remaining, units("2"));
    let denied = stage.take(&policy, "a", "5");
    assert!(!denied.is_allowed());
    assert_eq!(denied.retry_after, Some(secs(30)));
    assert_eq!(denied.remaining, units("2"));
    let last = stage.take(&policy, "a", "2");
    assert!(last.is_allowed());
    assert_eq!(last.remaining, Amount::ZERO);
    let never = stage.take(&policy, "a", "1000000");
    assert_eq!(never.retry_after, None);
    assert_eq!(never.reset_after, secs(100));
    stage.at(secs(10));
    assert!(stage.take(&policy, "a", "1").is_allowed());
}

/// P15: refill goes on between requests and never jumps.
fn bucket_refills_while_it_is_being_hit<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("10", "10", secs(30)));
    let mut outcomes = String::new();
    let mut whole = Vec::new();
    for second in 0..30 {
        stage.at(secs(second));
        let decision = stage.take(&policy, "slow", "1");
        outcomes.push(super::stage::letter(&decision));
        whole.push(decision.remaining.whole_units());
    }
    assert_eq!(whole[..6], [9, 8, 7, 7, 6, 5]);
    assert_eq!(outcomes[..19], *"AAAAAAAAAAAAAADADDA");
    assert_eq!(allowed(&outcomes), 19);

    let policy = only(bucket("3", "3", secs(1)));
    let passed = (0..100).filter(|tenth| {
        stage.at(millis(tenth * 100));
        stage.take(&policy, "fast", "1").is_allowed()
    });
    assert_eq!(passed.count(), 32);
}

/// P16: the end of a period is nothing special to a bucket.
fn bucket_gives_no_second_burst_at_a_boundary<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("100", "100", secs(60)));
    stage.at(millis(59_990));
    assert_eq!(allowed(&stage.takes(&policy, "a", 100)), 100);
    stage.at(millis(60_010));
    assert_eq!(allowed(&stage.takes(&policy, "a", 100)), 0);
}

/// P30: a cost of the whole capacity passes, and waits for a full bucket.
fn cost_equal_to_capacity_passes_when_full<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("3", "3", secs(2)));
    let full = stage.take(&policy, "a", "3");
    assert!(full.is_allowed());
    assert_eq!(full.remaining, Amount::ZERO);
    assert_eq!(stage.take(&policy, "a", "3").retry_after, Some(secs(2)));
}

/// P34: hours and years of silence multiply with a large rate.
fn long_idle_fills_the_bucket_and_overflows_nothing<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("1000000", "1000000", secs(3_600)));
    assert!(stage.take(&policy, "a", "1000000").is_allowed());
    for later in [43_200, 10 * 365 * 86_400] {
        stage.at(secs(later));
        let decision = stage.take(&policy, "a", "1");
        assert!(decision.is_allowed());
        assert_eq!(decision.remaining, units("999999"));
    }
}

/// P80: one per hour with room for one lets one pass.
fn burst_of_one_limits<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("1", "1", secs(3_600)));
    let outcomes = stage.takes(&policy, "a", 1_000);
    assert!(outcomes.starts_with('A'));
    assert_eq!(allowed(&outcomes), 1);
}

/// P81: after any idle time there is at most one burst.
fn idle_time_earns_no_more_than_a_burst<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("10", "10", secs(10)));
    for idle in [3, 6, 8, 1_000] {
        let key = format!("idle-{idle}");
        stage.at(secs(0));
        assert!(stage.take(&policy, &key, "1").is_allowed());
        stage.at(secs(idle));
        let first = stage.take(&policy, &key, "1");
        assert_eq!(first.remaining, units("9"));
        assert_eq!(allowed(&stage.takes(&policy, &key, 39)), 9);
    }
}

/// P29: what remains does not depend on where the clock stands.
fn remaining_is_right_at_any_clock<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("5", "1", secs(1)));
    stage.at(secs(1_000_000));
    assert_eq!(stage.take(&policy, "a", "1").remaining, units("4"));
    assert_eq!(stage.take(&policy, "a", "1").remaining, units("3"));
    stage.at(secs(1_000_010));
    assert_eq!(stage.take(&policy, "a", "1").remaining, units("4"));
}

/// P64: "N per X" is N in X, with room for N at once.
fn rate_means_count_per_its_own_period<R: Rig>(stage: &Stage<'_, R>) {
    let quota = |text| only(Limit::quota("quota", text).expect("a quota"));
    assert_eq!(stage.takes(&quota("5 per second"), "five", 10), "AAAAADDDDD");
    assert_eq!(stage.takes(&quota("6 per minute"), "six", 7), "AAAAAAD");
    let fast = quota("4000 per second");
    let passed = (0..8_000).filter(|offer| {
        stage.at(Span::from_micros(offer * 250));
        stage.take(&fast, "fast", "1").is_allowed()
    });
    assert_eq!(passed.count(), 8_000);
}

/// P33: offered more than twice the rate, a bucket passes its burst and then exactly the rate.
fn sustained_throughput_is_the_rate<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("1500", "1500", secs(1)));
    let passed = (0..=4_000).filter(|offer| {
        stage.at(Span::from_micros(offer * 250));
        stage.take(&policy, "a", "1").is_allowed()
    });
    assert_eq!(passed.count(), 3_000);
}
