//! A clock that is set back or forward.

use tidegate::{Amount, Policy};

use super::Claim;
use super::stage::{
    Stage, allowed, bucket, every_algorithm, first_request, fixed, millis, only, rolling, secs,
};
use crate::rig::Rig;

claims![
    step_back_never_locks_out_longer_than_a_refill,
    step_back_earns_nothing,
    step_forward_gives_at_most_one_burst,
    clock_that_swings_around_a_boundary_earns_nothing,
    late_reading_counts_from_the_newest_instant,
    reading_more_than_a_second_late_is_a_step_back,
];

/// P38: three requests at 100 s, then the clock says 80 s, or eight hours earlier.
fn step_back_never_locks_out_longer_than_a_refill<R: Rig>(stage: &Stage<'_, R>) {
    let refill = secs(5);
    for (place, policy) in every_algorithm("5", refill).iter().enumerate() {
        for back in [20, 28_800] {
            let key = format!("{place}-{back}");
            let start = secs(100_000);
            stage.at(start);
            assert_eq!(stage.takes(policy, &key, 3), "AAA");
            let mut now = start - secs(back);
            stage.at(now);
            let outcomes = stage.takes(policy, &key, 5);
            assert_eq!(outcomes, "AADDD", "{policy:?}");
            let denied = stage.take(policy, &key, "1");
            let longest =
                if policy.name().as_str() == "sliding" { refill + refill } else { refill };
            assert!(denied.retry_after.is_some_and(|wait| wait <= longest), "{denied:?}");
            now = now + longest;
            stage.at(now);
            assert!(stage.take(policy, &key, "1").is_allowed(), "{policy:?}");
        }
    }
}

/// P38: going back and forth does not fill anything.
fn step_back_earns_nothing<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(60)) {
        stage.at(secs(1_000));
        assert_eq!(stage.takes(&policy, "a", 5), "AAAAA");
        for back in [990, 500, 499, 100, 1] {
            stage.at(secs(back));
            assert_eq!(stage.takes(&policy, "a", 2), "DD", "{policy:?} at {back}");
        }
    }
}

/// P38: an hour forward and back is worth one burst and no more.
fn step_forward_gives_at_most_one_burst<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(5)) {
        let mut passed = 0;
        for at in [10_000, 13_600, 10_000, 13_600, 10_000] {
            stage.at(secs(at));
            passed += allowed(&stage.takes(&policy, "a", 10));
        }
        // Two real jumps forward, each worth one burst, after the first.
        assert!(passed <= 15, "{passed} of {policy:?}");
    }
    let bucket = only(bucket("5", "1", secs(1)));
    stage.at(secs(10_000));
    assert_eq!(allowed(&stage.takes(&bucket, "b", 10)), 5);
    stage.at(secs(13_600));
    assert_eq!(allowed(&stage.takes(&bucket, "b", 10)), 5);
    stage.at(secs(10_000));
    assert_eq!(allowed(&stage.takes(&bucket, "b", 10)), 0);
}

/// P38: two hosts' clocks on either side of a boundary do not open a window each time.
fn clock_that_swings_around_a_boundary_earns_nothing<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(fixed("5", secs(60)));
    let mut passed = 0;
    for swing in 0..100 {
        stage.at(millis(if swing % 2 == 0 { 59_900 } else { 60_100 }));
        passed += allowed(&stage.takes(&policy, "a", 1));
    }
    assert!(passed <= 10, "{passed}");
}

/// A reading less than a second late changes nothing but the wait, which grows by as much.
fn late_reading_counts_from_the_newest_instant<R: Rig>(stage: &Stage<'_, R>) {
    let policies: Vec<Policy> = vec![
        only(bucket("1", "1", secs(10))),
        only(rolling("1", secs(10))),
        only(first_request("1", secs(10))),
    ];
    for policy in policies {
        stage.at(secs(100));
        assert!(stage.take(&policy, "a", "1").is_allowed());
        stage.at(millis(99_400));
        let denied = stage.take(&policy, "a", "1");
        assert_eq!(denied.remaining, Amount::ZERO);
        assert_eq!(denied.retry_after, Some(millis(10_600)), "{policy:?}");
        stage.at(secs(110));
        assert!(stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
    }
}

/// One second is the most that a reading is late; a clock further behind was set back, and what was
/// taken counts as taken now.
fn reading_more_than_a_second_late_is_a_step_back<R: Rig>(stage: &Stage<'_, R>) {
    for limit in [bucket("1", "1", secs(10)), rolling("1", secs(10)), first_request("1", secs(10))]
    {
        let policy = only(limit);
        stage.at(secs(100));
        assert!(stage.take(&policy, "a", "1").is_allowed());
        stage.at(secs(99));
        let late = stage.take(&policy, "a", "1");
        assert_eq!(late.retry_after, Some(secs(11)), "{policy:?}");
        stage.at(secs(99) - stage.tick());
        let back = stage.take(&policy, "a", "1");
        assert_eq!(back.retry_after, Some(secs(10)), "{policy:?}");
        stage.at(secs(109) - stage.tick());
        assert!(stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
    }
}
