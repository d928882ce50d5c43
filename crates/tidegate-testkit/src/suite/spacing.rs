//! The minimum interval between two requests of a key.

use tidegate::{Outcome, Policy};

use super::Claim;
use super::stage::{Stage, bucket, every_algorithm, letters, millis, only, policy, secs, units};
use crate::rig::Rig;

claims![
    requests_too_close_together_are_denied,
    spacing_denial_charges_no_limit,
    limit_denial_does_not_start_the_interval,
    longer_of_interval_and_limit_is_told,
    two_at_once_can_never_keep_the_interval,
    cost_zero_keeps_no_interval,
];

/// A bucket of ten with half a second between requests.
fn spaced() -> Policy {
    let limit = bucket("10", "10", secs(1)).with_min_interval(millis(500));
    only(limit.expect("an interval"))
}

/// Half a second means half a second, whatever the request costs.
fn requests_too_close_together_are_denied<R: Rig>(stage: &Stage<'_, R>) {
    for (name, limit) in every_algorithm("10", secs(60)).iter().map(|p| (p.name(), &p.limits()[0]))
    {
        let limit = limit.clone().with_min_interval(millis(500));
        let policy = policy(name.as_str(), [limit.expect("an interval")]);
        stage.at(secs(0));
        assert!(stage.take(&policy, "a", "1").is_allowed());
        stage.at(millis(200));
        let denied = stage.take(&policy, "a", "0.5");
        assert_eq!(denied.outcome, Outcome::Deny, "{policy:?}");
        assert_eq!(denied.retry_after, Some(millis(300)));
        assert!(denied.reset_after >= millis(300));
        assert!(stage.take(&policy, "b", "1").is_allowed());
        stage.at(millis(500) - stage.tick());
        assert_eq!(stage.take(&policy, "a", "1").retry_after, Some(stage.tick()));
        stage.at(millis(500));
        assert!(stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
    }
}

/// A request that comes too early leaves the bucket as it was, and shows its true level.
fn spacing_denial_charges_no_limit<R: Rig>(stage: &Stage<'_, R>) {
    let policy = spaced();
    assert_eq!(stage.take(&policy, "a", "10").remaining, units("0"));
    stage.at(millis(300));
    let denied = stage.take(&policy, "a", "1");
    assert_eq!(denied.outcome, Outcome::Deny);
    assert_eq!(denied.remaining, units("3"));
    stage.at(millis(500));
    assert_eq!(stage.take(&policy, "a", "5").remaining, units("0"));
}

/// A request that the limit denies does not keep the next one waiting.
fn limit_denial_does_not_start_the_interval<R: Rig>(stage: &Stage<'_, R>) {
    let policy = spaced();
    assert!(stage.take(&policy, "a", "10").is_allowed());
    stage.at(millis(600));
    assert!(!stage.take(&policy, "a", "7").is_allowed());
    assert!(stage.take(&policy, "a", "6").is_allowed());
}

/// The wait is the longer of the two, and the limit's own numbers are shown.
fn longer_of_interval_and_limit_is_told<R: Rig>(stage: &Stage<'_, R>) {
    let policy = spaced();
    stage.take(&policy, "a", "10");
    let short = stage.take(&policy, "a", "1");
    assert_eq!((short.retry_after, short.limit), (Some(millis(500)), units("10")));
    let long = stage.take(&policy, "a", "8");
    assert_eq!(long.retry_after, Some(millis(800)));
    assert_eq!(stage.take(&policy, "a", "11").outcome, Outcome::Exceeds);
}

/// Two requests of one key at one instant never keep an interval, so together they exceed.
fn two_at_once_can_never_keep_the_interval<R: Rig>(stage: &Stage<'_, R>) {
    let policy = spaced();
    let twice = ["1", "1"].map(|cost| (&policy, "a", cost, tidegate::Mode::Take));
    assert_eq!(letters(&stage.together(&twice)), "AX");
    assert_eq!(letters(&stage.each(&twice)), "AD");
}

/// Looking neither needs the interval nor starts it.
fn cost_zero_keeps_no_interval<R: Rig>(stage: &Stage<'_, R>) {
    let policy = spaced();
    assert!(stage.take(&policy, "a", "0").is_allowed());
    assert!(stage.take(&policy, "a", "1").is_allowed());
    let look = stage.take(&policy, "a", "0");
    assert_eq!(look.outcome, Outcome::Allow);
    assert_eq!(look.reset_after, millis(500));
}
