//! What a client is told, and that it can rely on it.

use tidegate::{Outcome, Policy, Span};

use super::Claim;
use super::stage::{
    Stage, bucket, bucket_named, every_algorithm, fixed, millis, only, policy, rolling, secs, units,
};
use crate::rig::Rig;

claims![
    wait_is_exact,
    obeying_client_passes_and_not_one_tick_earlier,
    limit_is_full_when_reset_says_and_not_one_tick_earlier,
    wait_below_a_millisecond_is_not_zero,
    waits_of_one_microsecond_tie_to_the_first_limit,
    fixed_window_tells_the_time_left,
    rolling_window_waits_for_the_oldest_entry,
    never_seen_key_is_full,
    answers_stay_within_the_limit,
];

/// P22: a wait under a second is told, and fractions of a second are not cut off.
fn wait_is_exact<R: Rig>(stage: &Stage<'_, R>) {
    let five = only(bucket("5", "5", secs(1)));
    assert_eq!(stage.takes(&five, "five", 5), "AAAAA");
    assert_eq!(stage.take(&five, "five", "1").retry_after, Some(millis(200)));

    let slow = only(bucket("1", "1", millis(1_500)));
    assert!(stage.take(&slow, "slow", "1").is_allowed());
    stage.at(millis(100));
    assert_eq!(stage.take(&slow, "slow", "1").retry_after, Some(millis(1_400)));

    let seventh = only(bucket("7", "7", secs(1)));
    assert!(stage.take(&seventh, "seventh", "7").is_allowed());
    let tick = stage.tick().as_nanos();
    let ticks = 1_000_000_000_u64.div_ceil(7 * tick);
    let denied = stage.take(&seventh, "seventh", "1");
    assert_eq!(denied.retry_after, Some(Span::from_nanos(ticks * tick)));
    assert_eq!(denied.reset_after, secs(1));
}

/// Limits whose waits do not come out even.
fn uneven() -> Vec<Policy> {
    let mut policies = every_algorithm("7", secs(1));
    policies.extend(every_algorithm("3", secs(86_400)));
    policies.extend(every_algorithm("1000000", secs(1)));
    policies
}

/// P22: a client that sleeps exactly as told is never denied again, and would have been earlier.
fn obeying_client_passes_and_not_one_tick_earlier<R: Rig>(stage: &Stage<'_, R>) {
    for (place, policy) in uneven().iter().enumerate() {
        let max = policy.limits()[0].algorithm().max();
        let key = format!("key-{place}");
        let mut now = millis(123);
        for cost in [max.to_string(), "1".into(), "2".into(), "1".into(), max.to_string()] {
            stage.at(now);
            let decision = stage.take(policy, &key, &cost);
            let Some(wait) = decision.retry_after else {
                assert_eq!(decision.outcome, Outcome::Allow, "{policy:?}");
                continue;
            };
            stage.at(now + wait - stage.tick());
            let early = stage.take(policy, &key, &cost);
            assert_eq!(early.retry_after, Some(stage.tick()), "{policy:?}");
            now = now + wait;
            stage.at(now);
            assert!(stage.take(policy, &key, &cost).is_allowed(), "{policy:?}");
        }
    }
}

/// `reset_after` is when everything is back, to the tick.
fn limit_is_full_when_reset_says_and_not_one_tick_earlier<R: Rig>(stage: &Stage<'_, R>) {
    for (place, policy) in uneven().iter().enumerate() {
        let max = policy.limits()[0].algorithm().max();
        let key = format!("key-{place}");
        stage.at(millis(123));
        let reset = stage.take(policy, &key, "2").reset_after;
        stage.at(millis(123) + reset - stage.tick());
        let early = stage.peek(policy, &key, "0");
        assert_eq!(early.reset_after, stage.tick(), "{policy:?}");
        assert!(early.remaining < max, "{policy:?}");
        stage.at(millis(123) + reset);
        let full = stage.peek(policy, &key, "0");
        assert_eq!(full.remaining, max, "{policy:?}");
        assert!(full.reset_after.is_zero(), "{policy:?}");
    }
}

/// P33: rates above one a millisecond have waits too.
fn wait_below_a_millisecond_is_not_zero<R: Rig>(stage: &Stage<'_, R>) {
    let busy = only(bucket("8000", "8000", secs(1)));
    assert_eq!(stage.takes(&busy, "busy", 8_001).find('D'), Some(8_000));
    let wait = stage.take(&busy, "busy", "1").retry_after;
    assert_eq!(wait, Some(Span::from_micros(125)));
    for (capacity, nanos) in [("1000000", 1_000), ("1000000000", 1)] {
        let fast = only(bucket(capacity, capacity, secs(1)));
        assert!(stage.take(&fast, capacity, capacity).is_allowed());
        let wait = stage.take(&fast, capacity, "1").retry_after;
        assert_eq!(wait, Some(Span::from_nanos(nanos).max(stage.tick())));
    }
}

/// P53: of two limits whose waits differ by less than a microsecond every store names the first, and
/// whoever waits as told passes.
fn waits_of_one_microsecond_tie_to_the_first_limit<R: Rig>(stage: &Stage<'_, R>) {
    // One unit comes back after 333,333 and a third, and after 333,333 and a half microseconds.
    let shorter = bucket_named("shorter", "1", "3", secs(1));
    let longer = bucket_named("longer", "1", "2", Span::from_micros(666_667));
    let pairs = [("rising", [shorter.clone(), longer.clone()]), ("falling", [longer, shorter])];
    for (name, limits) in pairs {
        stage.at(secs(0));
        let policy = policy(name, limits);
        assert!(stage.take(&policy, "a", "1").is_allowed());
        let denied = stage.take(&policy, "a", "1");
        assert_eq!((denied.outcome, denied.limit_index), (Outcome::Deny, 0));
        let wait = denied.retry_after.expect("a wait");
        stage.at(wait - stage.tick());
        assert!(!stage.take(&policy, "a", "1").is_allowed());
        stage.at(wait);
        assert!(stage.take(&policy, "a", "1").is_allowed());
    }
}

/// P23: ten seconds before the end of the window the wait is ten seconds.
fn fixed_window_tells_the_time_left<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(fixed("5", secs(60)));
    assert_eq!(stage.takes(&policy, "a", 5), "AAAAA");
    stage.at(secs(50));
    let denied = stage.take(&policy, "a", "1");
    assert_eq!(denied.retry_after, Some(secs(10)));
    assert_eq!(denied.reset_after, secs(10));
}

/// P25: one unit needs the oldest entry to leave, not the newest.
fn rolling_window_waits_for_the_oldest_entry<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(rolling("2", secs(60)));
    assert!(stage.take(&policy, "a", "1").is_allowed());
    stage.at(secs(10));
    assert!(stage.take(&policy, "a", "1").is_allowed());
    stage.at(secs(20));
    let denied = stage.take(&policy, "a", "1");
    assert_eq!(denied.retry_after, Some(secs(40)));
    assert_eq!(denied.reset_after, secs(50));
    assert_eq!(stage.take(&policy, "a", "2").retry_after, Some(secs(50)));
    stage.at(millis(60_001));
    assert!(stage.take(&policy, "a", "1").is_allowed());
}

/// P27: a key that nobody has seen has everything and nothing to wait for.
fn never_seen_key_is_full<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(60)) {
        let decision = stage.peek(&policy, "nobody", "0");
        assert_eq!(decision.outcome, Outcome::Allow);
        assert_eq!((decision.limit, decision.remaining), (units("5"), units("5")));
        assert!(decision.reset_after.is_zero());
        assert_eq!(decision.retry_after, None);
    }
}

/// P27: remaining is never above the limit, and a wait is there exactly when denied.
fn answers_stay_within_the_limit<R: Rig>(stage: &Stage<'_, R>) {
    let both = [bucket("3", "1", secs(1)), rolling("4", secs(7))];
    let policy = policy("both", both);
    for step in 0..60_u64 {
        stage.at(millis(step * step * 7));
        let cost = ["1", "0", "2.5", "3", "9"][usize::try_from(step % 5).unwrap_or(0)];
        let decision = match step % 3 {
            0 => stage.take(&policy, "a", cost),
            1 => stage.peek(&policy, "a", cost),
            _ => stage.debit(&policy, "a", cost),
        };
        assert!(decision.remaining <= decision.limit, "{decision:?}");
        let waits = decision.retry_after.is_some_and(|wait| !wait.is_zero());
        assert_eq!(waits, decision.outcome == Outcome::Deny, "{decision:?}");
        assert_eq!(decision.retry_after.is_some(), waits, "{decision:?}");
    }
}
