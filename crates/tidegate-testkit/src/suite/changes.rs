//! A limit gets other numbers, or other limits beside it: what was used stays used.
//!
//! Every scene begins with requests under the old configuration and goes on under a new one of the
//! same names.

use tidegate::{Amount, Decision, Limit, Outcome, Span};

use super::Claim;
use super::stage::{
    Stage, bucket, bucket_named, every_algorithm, first_request, fixed, only, policy, rolling,
    secs, sliding, units,
};
use crate::rig::Rig;

claims![
    use_outlives_a_raised_and_a_lowered_maximum,
    answers_stay_within_a_lowered_limit,
    use_outlives_a_reload_of_the_same_numbers,
    debt_outlives_a_change_of_rate_either_way,
    use_outlives_a_change_of_window,
    use_outlives_limits_added_removed_and_reordered,
    spacing_outlives_limits_added_beside_it,
];

/// P59: five used of five leave seven of twelve and nothing of three.
fn use_outlives_a_raised_and_a_lowered_maximum<R: Rig>(stage: &Stage<'_, R>) {
    let [five, twelve, three] = ["5", "12", "3"].map(|max| every_algorithm(max, secs(300)));
    for ((five, twelve), three) in five.iter().zip(&twelve).zip(&three) {
        assert_eq!(stage.takes(five, "a", 6), "AAAAAD", "{five:?}");
        assert_eq!(stage.peek(twelve, "a", "0").remaining, units("7"), "{twelve:?}");
        assert_eq!(stage.takes(twelve, "a", 8), "AAAAAAAD", "{twelve:?}");
        let lowered = stage.take(three, "a", "1");
        assert_eq!((lowered.outcome, lowered.limit), (Outcome::Deny, units("3")), "{three:?}");
        assert_eq!(lowered.remaining, Amount::ZERO, "{three:?}");
        // A bucket that changed its rate owes at most one full limit more than it holds.
        if twelve.name().as_str() != "bucket" {
            assert_eq!(stage.takes(twelve, "a", 1), "D", "{twelve:?}");
        }
    }
}

/// P27: nothing below zero or above the limit is told after it was lowered, at any time until it is
/// full.
fn answers_stay_within_a_lowered_limit<R: Rig>(stage: &Stage<'_, R>) {
    let sound = |decision: &Decision| {
        assert!(decision.remaining <= decision.limit, "{decision:?}");
        let denied = decision.outcome == Outcome::Deny;
        assert_eq!(decision.retry_after.is_some(), denied, "{decision:?}");
        assert_ne!(decision.retry_after, Some(Span::ZERO));
    };
    let lowered = every_algorithm("3", secs(60));
    for (before, after) in every_algorithm("50", secs(60)).iter().zip(&lowered) {
        stage.at(secs(0));
        assert!(stage.take(before, "a", "50").is_allowed());
        for second in (0..120).step_by(7) {
            stage.at(secs(second));
            sound(&stage.peek(after, "a", "1"));
            assert_eq!(stage.peek(after, "a", "4").outcome, Outcome::Exceeds);
        }
        stage.at(secs(0));
        let reset = stage.peek(after, "a", "1").reset_after;
        stage.at(reset - stage.tick());
        assert!(stage.peek(after, "a", "0").reset_after <= stage.tick(), "{after:?}");
        stage.at(reset);
        let full = stage.peek(after, "a", "0");
        assert_eq!((full.remaining, full.reset_after), (units("3"), Span::ZERO), "{after:?}");
    }
}

/// P62: whoever can cause reloads gets nothing by them.
fn use_outlives_a_reload_of_the_same_numbers<R: Rig>(stage: &Stage<'_, R>) {
    for (place, drained) in every_algorithm("5", secs(18_000)).iter().enumerate() {
        assert_eq!(stage.takes(drained, "a", 5), "AAAAA");
        for _ in 0..10 {
            let again = &every_algorithm("5", secs(18_000))[place];
            assert_eq!(stage.takes(again, "a", 1), "D", "{again:?}");
        }
    }
}

/// P62: a bucket's debt is carried over, in units, when its rate changes to another denominator, to a
/// faster and to a slower one.
fn debt_outlives_a_change_of_rate_either_way<R: Rig>(stage: &Stage<'_, R>) {
    let slow = only(bucket("10", "1", secs(7)));
    let fast = only(bucket("10", "10", secs(3)));
    assert_eq!(stage.take(&slow, "a", "8").remaining, units("2"));
    stage.at(secs(7));
    assert_eq!(stage.take(&slow, "a", "1").remaining, units("2"));
    let changed = stage.take(&fast, "a", "2");
    assert_eq!((changed.outcome, changed.remaining), (Outcome::Allow, Amount::ZERO));
    assert_eq!(stage.take(&fast, "a", "10").retry_after, Some(secs(3)));
    assert_eq!(stage.take(&slow, "a", "1").retry_after, Some(secs(7)));

    // Drained at one rate and asked at another, ten times over: nothing comes of it.
    stage.at(secs(0));
    let hourly = [("1", secs(3_600)), ("7", secs(3_600)), ("1", secs(1_000)), ("3", secs(86_400))];
    let rates = hourly.map(|(count, period)| only(bucket("5", count, period)));
    assert_eq!(stage.takes(&rates[0], "drained", 5), "AAAAA");
    for turn in 0..10 {
        assert_eq!(stage.takes(&rates[turn % rates.len()], "drained", 1), "D");
    }
    // Rounding is to the client's loss, and by less than a millionth of a unit a change.
    let wait = stage.take(&rates[0], "drained", "1").retry_after.expect("a wait");
    assert!(wait >= secs(3_600) && wait < secs(3_601), "{wait}");
}

/// What was used under a window still counts under a longer and a shorter one.
fn use_outlives_a_change_of_window<R: Rig>(stage: &Stage<'_, R>) {
    type Make = fn(&str, Span) -> Limit;
    let makes: [Make; 4] = [fixed, first_request, rolling, sliding];
    for (place, make) in makes.into_iter().enumerate() {
        let key = format!("key-{place}");
        let of = |seconds| only(make("5", secs(seconds)));
        stage.at(secs(0));
        assert!(stage.take(&of(60), &key, "3").is_allowed());
        stage.at(secs(30));
        let longer = stage.take(&of(120), &key, "5");
        assert_eq!((longer.outcome, longer.remaining), (Outcome::Deny, units("2")));
        let shorter = stage.take(&of(40), &key, "5");
        assert_eq!((shorter.outcome, shorter.remaining), (Outcome::Deny, units("2")));
        if make("5", secs(60)).algorithm().name() != "sliding_window" {
            assert_eq!(longer.retry_after, Some(secs(90)), "{:?}", of(120));
            assert_eq!(shorter.retry_after, Some(secs(10)), "{:?}", of(40));
        }
    }
}

/// P62: a limit keeps what was used of it whatever happens to the others of its policy.
fn use_outlives_limits_added_removed_and_reordered<R: Rig>(stage: &Stage<'_, R>) {
    let a = || bucket_named("a", "2", "1", secs(3_600));
    let (b, c) = (|| rolling("5", secs(3_600)), || sliding("9", secs(3_600)));
    let of = |limits: Vec<Limit>| policy("changing", limits);
    assert_eq!(stage.takes(&of(vec![a(), b()]), "k", 3), "AAD");
    let governs = |limits: Vec<Limit>, cost: &str| {
        let denied = stage.take(&of(limits), "k", cost);
        assert_eq!(denied.outcome, Outcome::Deny);
        (denied.limit_index, denied.remaining)
    };
    // Reordered, with one added at either end and between them: the first is still drained.
    assert_eq!(governs(vec![b(), a()], "1"), (1, Amount::ZERO));
    assert_eq!(governs(vec![b(), c(), a()], "1"), (2, Amount::ZERO));
    assert_eq!(governs(vec![a(), c(), b()], "1"), (0, Amount::ZERO));
    assert_eq!(governs(vec![c(), a(), b(), fixed("1", secs(60))], "1"), (1, Amount::ZERO));
    // Removed: the second has three of its five left, and the new ones all that they hold.
    assert_eq!(stage.takes(&of(vec![c(), b()]), "k", 3), "AAA");
    assert_eq!(governs(vec![c(), b()], "1"), (1, Amount::ZERO));
    assert_eq!(stage.takes(&of(vec![c()]), "k", 7), "AAAAAAD");
}

/// P62: a minimum spacing too, and it goes when it is taken out.
fn spacing_outlives_limits_added_beside_it<R: Rig>(stage: &Stage<'_, R>) {
    let plain = || bucket("10", "1", secs(60));
    let spaced = || plain().with_min_interval(secs(10)).expect("an interval");
    assert!(stage.take(&only(spaced()), "k", "1").is_allowed());
    stage.at(secs(4));
    let beside = policy("only", [fixed("5", secs(60)), spaced()]);
    let denied = stage.take(&beside, "k", "1");
    assert_eq!((denied.limit_index, denied.retry_after), (1, Some(secs(6))));
    let without = stage.take(&policy("only", [fixed("5", secs(60)), plain()]), "k", "1");
    assert!(without.is_allowed());
}
