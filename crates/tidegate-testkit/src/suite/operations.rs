//! Peek, debit, refund and reset.

use tidegate::{Amount, Outcome, Policy, Span};

use super::Claim;
use super::stage::{
    Stage, bucket, every_algorithm, first_request, fixed, millis, only, rolling, secs, sliding,
    units,
};
use crate::rig::Rig;

claims![
    peek_changes_nothing,
    peek_says_what_a_take_would_get,
    debit_goes_one_full_limit_below_zero_and_no_deeper,
    debt_is_repaid_before_anything_passes,
    debit_tells_what_a_take_would_have_got,
    refund_gives_back_and_never_above_full,
    refund_goes_into_the_window_where_it_was_taken,
    refund_of_a_window_that_is_over_is_dropped,
    reset_is_idempotent_and_fills,
];

/// Any number of peeks leaves the state as it was.
fn peek_changes_nothing<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("3", secs(60)) {
        for cost in ["0", "1", "3", "4"] {
            stage.peek(&policy, "a", cost);
        }
        assert_eq!(stage.take(&policy, "a", "1").remaining, units("2"));
        for _ in 0..5 {
            assert_eq!(stage.peek(&policy, "a", "1").remaining, units("2"));
        }
        assert_eq!(stage.take(&policy, "a", "2").remaining, Amount::ZERO);
    }
}

/// A peek and then a take at the same instant have the same outcome and wait.
fn peek_says_what_a_take_would_get<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("3", secs(60)) {
        for (step, cost) in ["1", "4", "2", "1", "3", "0.5"].iter().enumerate() {
            stage.at(secs(7 * u64::try_from(step).unwrap_or(0)));
            let peek = stage.peek(&policy, "a", cost);
            let take = stage.take(&policy, "a", cost);
            assert_eq!(peek.outcome, take.outcome, "{policy:?}");
            assert_eq!(peek.retry_after, take.retry_after, "{policy:?}");
        }
        stage.at(secs(0));
    }
}

/// The debt of a key ends at one full limit below zero.
fn debit_goes_one_full_limit_below_zero_and_no_deeper<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(bucket("10", "1", secs(1)));
    assert!(stage.debit(&policy, "a", "8").is_allowed());
    let second = stage.debit(&policy, "a", "8");
    assert_eq!(second.outcome, Outcome::Deny);
    assert_eq!(second.remaining, Amount::ZERO);
    assert_eq!(second.reset_after, secs(16));
    assert_eq!(stage.peek(&policy, "a", "1").retry_after, Some(secs(7)));
    for cost in ["8", "10", "1e12"] {
        assert_eq!(stage.debit(&policy, "a", cost).reset_after, secs(20));
        assert_eq!(stage.peek(&policy, "a", "1").retry_after, Some(secs(11)));
    }
}

/// The next window repays a window's debt; a rolling window waits until enough has left it.
fn debt_is_repaid_before_anything_passes<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("10", secs(60)) {
        stage.debit(&policy, "a", "7");
        stage.debit(&policy, "a", "7");
        let denied = stage.take(&policy, "a", "1");
        let wait = denied.retry_after.expect("a wait");
        match policy.name().as_str() {
            // Fourteen in use, one of ten wanted: five to come back at one in six seconds.
            "bucket" => assert_eq!(wait, secs(30)),
            // Fourteen fade in sixty seconds once their window is over; nine of them may stay.
            "sliding" => assert!(wait > secs(60) && wait < secs(120)),
            _ => assert_eq!(wait, secs(60)),
        }
        stage.at(wait - stage.tick());
        assert!(!stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
        stage.at(wait);
        assert!(stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
        stage.at(secs(0));
    }
}

/// A debit is charged always, and its outcome is that of a take.
fn debit_tells_what_a_take_would_have_got<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("4", secs(60)) {
        for cost in ["3", "2", "5", "1"] {
            let peek = stage.peek(&policy, "a", cost);
            let debit = stage.debit(&policy, "a", cost);
            assert_eq!(debit.outcome, peek.outcome, "{policy:?}");
            assert_eq!(debit.retry_after, peek.retry_after, "{policy:?}");
        }
        assert_eq!(stage.peek(&policy, "a", "0").remaining, Amount::ZERO);
    }
}

/// What is given back can be taken again, and a full limit takes nothing more.
fn refund_gives_back_and_never_above_full<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("10", secs(60)) {
        stage.refund(&policy, "fresh", "3", secs(0));
        assert_eq!(stage.peek(&policy, "fresh", "0").remaining, units("10"));

        stage.take(&policy, "a", "6");
        stage.refund(&policy, "a", "2", secs(0));
        assert_eq!(stage.peek(&policy, "a", "0").remaining, units("6"), "{policy:?}");
        stage.refund(&policy, "a", "9", secs(0));
        let full = stage.peek(&policy, "a", "0");
        assert_eq!(full.remaining, units("10"), "{policy:?}");
        assert!(full.reset_after.is_zero());
        assert_eq!(stage.take(&policy, "a", "10").remaining, Amount::ZERO);
    }
}

/// A refund looks for the window of its own time, and not for the newest one.
fn refund_goes_into_the_window_where_it_was_taken<R: Rig>(stage: &Stage<'_, R>) {
    let rolling = only(rolling("10", secs(60)));
    stage.take(&rolling, "rolling", "4");
    stage.at(secs(10));
    stage.take(&rolling, "rolling", "6");
    stage.refund(&rolling, "rolling", "4", secs(0));
    assert_eq!(stage.peek(&rolling, "rolling", "0").remaining, units("4"));
    stage.at(secs(60));
    assert_eq!(stage.peek(&rolling, "rolling", "0").remaining, units("4"));

    let sliding = only(sliding("10", secs(60)));
    stage.at(secs(0));
    stage.take(&sliding, "sliding", "8");
    stage.at(secs(90));
    stage.take(&sliding, "sliding", "2");
    assert_eq!(stage.peek(&sliding, "sliding", "0").remaining, units("4"));
    stage.refund(&sliding, "sliding", "4", secs(0));
    assert_eq!(stage.peek(&sliding, "sliding", "0").remaining, units("6"));
    stage.refund(&sliding, "sliding", "1", secs(90));
    assert_eq!(stage.peek(&sliding, "sliding", "0").remaining, units("7"));
}

/// What was taken in a window that is over is not given to the next one.
fn refund_of_a_window_that_is_over_is_dropped<R: Rig>(stage: &Stage<'_, R>) {
    let fixed = fixed("10", secs(60));
    let first = first_request("10", secs(60));
    let rolling = rolling("10", secs(60));
    let cases: [(Policy, Span); 4] = [
        (only(fixed), secs(60)),
        (only(first), secs(60)),
        (only(rolling), secs(60)),
        (only(sliding("10", secs(60))), secs(120)),
    ];
    for (policy, later) in cases {
        stage.at(secs(0));
        stage.take(&policy, "a", "5");
        stage.at(later + millis(1));
        assert_eq!(stage.take(&policy, "a", "7").remaining, units("3"));
        stage.refund(&policy, "a", "5", secs(0));
        assert_eq!(stage.peek(&policy, "a", "0").remaining, units("3"), "{policy:?}");
    }
}

/// A reset fills, and a second one and one of a key never seen do nothing more.
fn reset_is_idempotent_and_fills<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("3", secs(60)) {
        stage.reset(&policy, "a");
        stage.debit(&policy, "a", "5");
        stage.take(&policy, "b", "1");
        for _ in 0..2 {
            stage.reset(&policy, "a");
            let full = stage.peek(&policy, "a", "0");
            assert_eq!(full.remaining, units("3"), "{policy:?}");
            assert!(full.reset_after.is_zero());
        }
        assert_eq!(stage.peek(&policy, "b", "0").remaining, units("2"));
        assert_eq!(stage.take(&policy, "a", "3").remaining, Amount::ZERO);
    }
}
