//! What the three kinds of window let through.

use tidegate::Amount;

use super::Claim;
use super::stage::{
    Stage, allowed, every_algorithm, first_request, fixed, millis, only, rolling, secs, sliding,
    units,
};
use crate::rig::Rig;

claims![
    requests_at_one_instant_all_count,
    persistent_client_gets_in_again,
    fixed_window_starts_again_at_its_boundary,
    rolling_window_gives_no_second_burst,
    sliding_window_gives_no_second_burst,
    entry_exactly_one_window_old_no_longer_counts,
    day_is_a_utc_day,
    window_is_not_forgotten_early,
    first_request_starts_the_window,
    sliding_window_counts_whole_units_of_the_previous_window,
    windows_count_cost_and_not_requests,
];

/// P11: twenty requests at one instant are twenty requests.
fn requests_at_one_instant_all_count<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(10)) {
        let outcomes = stage.takes(&policy, "a", 20);
        assert_eq!(outcomes, format!("AAAAA{}", "D".repeat(15)), "{policy:?}");
    }
}

/// P12: denials cost nothing, so a client that never stops asking still gets what it may have.
fn persistent_client_gets_in_again<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("2", secs(4)) {
        let passes = |second: &u64| {
            stage.at(secs(*second));
            stage.take(&policy, "a", "1").is_allowed()
        };
        let passed: Vec<u64> = (0..60).filter(passes).collect();
        let seconds = 0..60_u64;
        let expected: Vec<u64> = match policy.name().as_str() {
            "bucket" => seconds.filter(|t| t % 2 == 0 || *t == 1).collect(),
            // Of two in the previous window one has faded once its share is below two.
            "sliding" => seconds.filter(|t| *t == 0 || t % 2 == 1 && *t != 3).collect(),
            _ => seconds.filter(|t| t % 4 < 2).collect(),
        };
        assert_eq!(passed, expected, "{policy:?}");
    }
}

/// P16: a fixed window may pass twice its maximum around a boundary; that is its meaning.
fn fixed_window_starts_again_at_its_boundary<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(fixed("100", secs(60)));
    stage.at(millis(59_990));
    assert_eq!(allowed(&stage.takes(&policy, "a", 101)), 100);
    stage.at(millis(60_010));
    assert_eq!(allowed(&stage.takes(&policy, "a", 101)), 100);
}

/// P16: a rolling window passes its maximum once, and again when that is one window old.
fn rolling_window_gives_no_second_burst<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(rolling("100", secs(60)));
    stage.at(millis(59_990));
    assert_eq!(allowed(&stage.takes(&policy, "a", 100)), 100);
    stage.at(millis(60_010));
    assert_eq!(allowed(&stage.takes(&policy, "a", 100)), 0);
    stage.at(millis(119_980));
    assert_eq!(stage.take(&policy, "a", "1").retry_after, Some(millis(10)));
    stage.at(secs(120));
    assert!(stage.take(&policy, "a", "1").is_allowed());
}

/// P16: just after a boundary nearly all of the previous window still counts.
fn sliding_window_gives_no_second_burst<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(sliding("100", secs(60)));
    stage.at(millis(59_990));
    assert_eq!(allowed(&stage.takes(&policy, "a", 100)), 100);
    stage.at(millis(60_010));
    assert_eq!(allowed(&stage.takes(&policy, "a", 100)), 1);
}

/// A window is half open: what is exactly one window old is outside.
fn entry_exactly_one_window_old_no_longer_counts<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(rolling("1", secs(4)));
    assert!(stage.take(&policy, "a", "1").is_allowed());
    stage.at(secs(4) - stage.tick());
    let denied = stage.take(&policy, "a", "1");
    assert_eq!(denied.retry_after, Some(stage.tick()));
    stage.at(secs(4));
    assert!(stage.take(&policy, "a", "1").is_allowed());
}

/// P42: "per day" begins at midnight UTC, whatever the time zone of the process.
fn day_is_a_utc_day<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(fixed("2", secs(86_400)));
    stage.before(secs(1));
    assert_eq!(stage.takes(&policy, "a", 2), "AA");
    assert_eq!(stage.take(&policy, "a", "1").retry_after, Some(secs(1)));
    stage.at(secs(0));
    assert!(stage.take(&policy, "a", "1").is_allowed());
}

/// P55: an hour lasts an hour.
fn window_is_not_forgotten_early<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("2", secs(3_600)).into_iter().skip(1) {
        let sliding = policy.name().as_str() == "sliding";
        assert_eq!(stage.takes(&policy, "a", 2), "AA");
        for later in [301, 1_800, 3_599] {
            stage.at(secs(later));
            assert!(!stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
        }
        stage.at(secs(3_600) + if sliding { stage.tick() } else { secs(0) });
        assert!(stage.take(&policy, "a", "1").is_allowed(), "{policy:?}");
        stage.at(secs(0));
    }
}

/// With `align: first_request` a window begins with a request and not with the clock's minute.
fn first_request_starts_the_window<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(first_request("2", secs(60)));
    stage.at(secs(50));
    assert_eq!(stage.take(&policy, "a", "1").reset_after, secs(60));
    stage.at(secs(61));
    assert!(stage.take(&policy, "a", "1").is_allowed());
    assert_eq!(stage.take(&policy, "a", "1").retry_after, Some(secs(49)));
    stage.at(secs(130));
    assert_eq!(stage.take(&policy, "a", "2").reset_after, secs(60));
}

/// The previous window's share is rounded down to whole units before the current one is added.
fn sliding_window_counts_whole_units_of_the_previous_window<R: Rig>(stage: &Stage<'_, R>) {
    let policy = only(sliding("100", secs(60)));
    stage.debit(&policy, "a", "40");
    stage.at(secs(60));
    stage.debit(&policy, "a", "80");
    stage.at(secs(90));
    assert_eq!(stage.peek(&policy, "a", "0").remaining, Amount::ZERO);
    assert!(!stage.peek(&policy, "a", "1").is_allowed());
    stage.at(secs(100));
    assert_eq!(stage.peek(&policy, "a", "0").remaining, units("7"));
    assert_eq!(stage.take(&policy, "a", "7").remaining, Amount::ZERO);
}

/// A window holds so many units, whatever the number of requests.
fn windows_count_cost_and_not_requests<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("10", secs(60)) {
        assert_eq!(stage.take(&policy, "a", "7.5").remaining, units("2.5"));
        let denied = stage.take(&policy, "a", "2.500001");
        assert!(!denied.is_allowed());
        assert_eq!(denied.remaining, units("2.5"));
        assert_eq!(stage.take(&policy, "a", "2.5").remaining, Amount::ZERO);
    }
}
