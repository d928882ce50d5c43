//! Costs that are no ordinary one.

use tidegate::{Amount, Outcome};

use super::Claim;
use super::stage::{
    Stage, bucket, every_algorithm, first_request, fixed, only, rolling, secs, sliding, units,
};
use crate::rig::Rig;

claims![
    cost_above_the_limit_exceeds_and_leaves_the_state_alone,
    extreme_costs_mint_nothing,
    cost_zero_asks_nothing_and_takes_nothing,
    fractions_add_up_exactly,
    limit_of_zero_lets_nothing_pass,
];

/// P30: what can never pass is told so, without a wait.
fn cost_above_the_limit_exceeds_and_leaves_the_state_alone<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("3", secs(2)) {
        let never = stage.take(&policy, "a", "4");
        assert_eq!(never.outcome, Outcome::Exceeds, "{policy:?}");
        assert_eq!(never.retry_after, None);
        assert_eq!(never.remaining, units("3"));
        assert!(never.reset_after.is_zero());
        assert!(stage.take(&policy, "a", "3").is_allowed());
        assert_eq!(stage.take(&policy, "a", "3.000001").outcome, Outcome::Exceeds);
        assert_eq!(stage.take(&policy, "a", "3").outcome, Outcome::Deny);
    }
}

/// P31: no cost, however odd, gives anything to a bucket that has nothing.
fn extreme_costs_mint_nothing<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(3_600)) {
        assert!(stage.take(&policy, "a", "5").is_allowed());
        for cost in ["1.5", "0.000001", "2147483648", "4503599627", "1e12"] {
            assert!(!stage.take(&policy, "a", cost).is_allowed(), "{cost} of {policy:?}");
        }
        let denied = stage.take(&policy, "a", "1");
        assert_eq!(denied.outcome, Outcome::Deny);
        assert_eq!(denied.remaining, Amount::ZERO);
    }
}

/// P31: cost zero looks at a fresh key, a spent one and one in debt, and changes none.
fn cost_zero_asks_nothing_and_takes_nothing<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(3_600)) {
        for spent in ["0", "5", "4"] {
            stage.debit(&policy, "a", spent);
            let before = stage.peek(&policy, "a", "0");
            for _ in 0..3 {
                let look = stage.take(&policy, "a", "0");
                assert_eq!(look.outcome, Outcome::Allow, "{policy:?}");
                assert_eq!(look, before);
            }
        }
    }
}

/// Ten tenths are one.
fn fractions_add_up_exactly<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("1", secs(3_600)) {
        for tenth in 1..=10 {
            let decision = stage.take(&policy, "a", "0.1");
            assert!(decision.is_allowed(), "{policy:?}");
            assert_eq!(decision.remaining.as_micros(), (10 - tenth) * 100_000);
        }
        assert!(!stage.take(&policy, "a", "0.000001").is_allowed(), "{policy:?}");
    }
}

/// P32: a limit of zero exceeds at every cost above zero, and never divides by it.
fn limit_of_zero_lets_nothing_pass<R: Rig>(stage: &Stage<'_, R>) {
    for limit in [
        fixed("0", secs(60)),
        first_request("0", secs(60)),
        rolling("0", secs(60)),
        sliding("0", secs(60)),
        bucket("0", "1", secs(60)),
    ] {
        let policy = only(limit);
        for cost in ["0.000001", "1", "1e12"] {
            let never = stage.take(&policy, "a", cost);
            assert_eq!(never.outcome, Outcome::Exceeds, "{policy:?}");
            assert_eq!((never.limit, never.remaining), (Amount::ZERO, Amount::ZERO));
            stage.debit(&policy, "a", cost);
        }
        let look = stage.peek(&policy, "a", "0");
        assert_eq!(look.outcome, Outcome::Allow);
        assert!(look.reset_after.is_zero(), "{policy:?}");
    }
}
