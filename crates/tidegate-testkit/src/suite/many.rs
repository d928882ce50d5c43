//! Several limits on one check, and several checks in one request.

use tidegate::{Amount, Mode, Outcome};

use super::Claim;
use super::stage::{
    Stage, allowed, bucket, every_algorithm, fixed, letters, policy, rolling, secs, units,
};
use crate::rig::Rig;

claims![
    one_limit_that_denies_charges_no_other,
    one_check_that_denies_charges_no_other,
    limit_that_denies_is_the_one_reported,
    longest_wait_is_reported_when_several_deny,
    least_share_is_reported_when_all_allow,
    exceeds_is_reported_before_a_denial,
    check_that_denies_governs_the_verdict,
    two_rules_have_two_counters,
    routes_share_a_limit_by_the_name_of_its_policy,
    names_and_keys_do_not_run_together,
    costs_on_one_key_in_one_request_add_up,
    sum_above_the_limit_exceeds,
    each_check_by_itself_charges_what_passes,
    debit_is_charged_when_the_request_is_denied,
    peek_in_a_request_does_not_count,
    remaining_is_after_the_checks_before,
];

use Mode::{Debit, Peek, Take};

/// P13: of two limits in a policy the other one stays uncharged, in either order.
fn one_limit_that_denies_charges_no_other<R: Rig>(stage: &Stage<'_, R>) {
    let group = || rolling("10", secs(60));
    let special = || fixed("3", secs(30));
    for (key, both) in [("wide", [group(), special()]), ("narrow", [special(), group()])] {
        let policy = policy("both", both);
        stage.at(secs(0));
        assert_eq!(stage.takes(&policy, key, 5), "AAADD");
        stage.at(secs(30));
        assert_eq!(stage.takes(&policy, key, 5), "AAADD");
        // Six were taken; had the four denied ones been charged, the group would be full.
        stage.at(secs(60) - stage.tick());
        assert_eq!(stage.peek(&policy, key, "3").retry_after, Some(stage.tick()));
        stage.at(secs(60));
        let third = stage.take(&policy, key, "3");
        assert!(third.is_allowed());
    }
    let (wide, narrow) = (rolling("10", secs(60)), fixed("3", secs(1)));
    let policy = policy("later", [wide, narrow]);
    stage.at(secs(0));
    let passed: usize = (0..5)
        .map(|second| {
            stage.at(secs(second));
            allowed(&stage.takes(&policy, "a", 5))
        })
        .sum();
    assert_eq!(passed, 10);
}

/// P13: five special calls, of which three pass, leave seven of the group's ten.
fn one_check_that_denies_charges_no_other<R: Rig>(stage: &Stage<'_, R>) {
    let group = policy("group", [bucket("10", "10", secs(60))]);
    let special = policy("special", [bucket("3", "3", secs(60))]);
    for order in [[&group, &special], [&special, &group]] {
        let key = order[0].name().as_str();
        let call = || stage.together(&order.map(|policy| (policy, key, "1", Take)));
        let passed: Vec<bool> = (0..5).map(|_| call().is_allowed()).collect();
        assert_eq!(passed, [true, true, true, false, false]);
        assert_eq!(stage.peek(&group, key, "0").remaining, units("7"));
        assert_eq!(stage.takes(&group, key, 8), "AAAAAAAD");
    }
}

/// P24: a spent hour is reported as such while the minute has room.
fn limit_that_denies_is_the_one_reported<R: Rig>(stage: &Stage<'_, R>) {
    let policy = policy("both", [bucket("2000", "2000", secs(60)), fixed("1000", secs(3_600))]);
    assert!(stage.take(&policy, "a", "1000").is_allowed());
    stage.at(secs(600));
    let denied = stage.take(&policy, "a", "1");
    assert_eq!(denied.outcome, Outcome::Deny);
    assert_eq!(denied.limit_index, 1);
    assert_eq!((denied.limit, denied.remaining), (units("1000"), Amount::ZERO));
    assert_eq!(denied.retry_after, Some(secs(3_000)));
    assert_eq!(denied.reset_after, secs(3_000));
}

/// P24: a client that waits for the shorter of two waits would be denied again.
fn longest_wait_is_reported_when_several_deny<R: Rig>(stage: &Stage<'_, R>) {
    let policy = policy("both", [fixed("2", secs(60)), rolling("2", secs(90))]);
    assert_eq!(stage.takes(&policy, "a", 2), "AA");
    let denied = stage.take(&policy, "a", "1");
    assert_eq!((denied.limit_index, denied.retry_after), (1, Some(secs(90))));
    stage.at(secs(90));
    assert!(stage.take(&policy, "a", "1").is_allowed());
}

/// Of limits that allow, the one with the least share left is told; the first of equals.
fn least_share_is_reported_when_all_allow<R: Rig>(stage: &Stage<'_, R>) {
    let small = policy("small", [fixed("100", secs(60)), bucket("10", "10", secs(60))]);
    let decision = stage.take(&small, "a", "1");
    assert_eq!((decision.limit_index, decision.remaining), (1, units("9")));
    let equal = policy("equal", [rolling("10", secs(60)), fixed("10", secs(60))]);
    assert_eq!(stage.take(&equal, "a", "1").limit_index, 0);
}

/// What can never pass is told even where another limit would only have to be waited for.
fn exceeds_is_reported_before_a_denial<R: Rig>(stage: &Stage<'_, R>) {
    let policy = policy("both", [fixed("5", secs(60)), rolling("2", secs(60))]);
    stage.debit(&policy, "a", "5");
    let never = stage.take(&policy, "a", "3");
    assert_eq!((never.outcome, never.limit_index), (Outcome::Exceeds, 1));
    assert_eq!(never.retry_after, None);
}

/// P24: of several checks the one that denies longest governs.
fn check_that_denies_governs_the_verdict<R: Rig>(stage: &Stage<'_, R>) {
    let requests = policy("requests", [fixed("60", secs(60))]);
    let budget = policy("budget", [fixed("1000", secs(3_600))]);
    let spend = stage.together(&[(&requests, "a", "1", Take), (&budget, "a", "1000", Take)]);
    assert_eq!(letters(&spend), "AA");
    assert_eq!(spend.decisions()[0].remaining, units("59"));
    stage.at(secs(600));
    let denied = stage.together(&[(&requests, "a", "1", Take), (&budget, "a", "1", Take)]);
    assert_eq!(letters(&denied), "AD");
    assert_eq!(denied.governing(), 1);
    assert_eq!(denied.decisions()[1].retry_after, Some(secs(3_000)));
    assert_eq!(stage.peek(&requests, "a", "0").remaining, units("60"));
}

/// P45: a rule for all and one for some count apart, and so do two rules with equal numbers.
fn two_rules_have_two_counters<R: Rig>(stage: &Stage<'_, R>) {
    let all = policy("all", [fixed("1000", secs(60))]);
    let some = policy("some", [fixed("10", secs(60))]);
    let call = || stage.together(&[(&all, "a", "1", Take), (&some, "a", "1", Take)]);
    assert_eq!((0..11).filter(|_| call().is_allowed()).count(), 10);
    assert_eq!(stage.peek(&all, "a", "0").remaining, units("990"));

    for route in ["route-one", "route-two"] {
        let route = policy(route, [fixed("3", secs(60))]);
        assert_eq!(stage.takes(&route, "b", 4), "AAAD");
    }
    let hour = rolling("10", secs(3_600));
    let both = policy("both", [fixed("10", secs(60)), hour]);
    assert_eq!(stage.takes(&both, "c", 11), "AAAAAAAAAAD");
    stage.at(secs(60));
    let denied = stage.take(&both, "c", "1");
    assert_eq!((denied.limit_index, denied.remaining), (1, Amount::ZERO));
}

/// P53: two routes whose checks name one policy share its limits, in turn and in one request; two
/// policies that give a limit the same name do not.
fn routes_share_a_limit_by_the_name_of_its_policy<R: Rig>(stage: &Stage<'_, R>) {
    for (first, second) in every_algorithm("6", secs(60)).iter().zip(every_algorithm("6", secs(60)))
    {
        let limits = second.limits().to_vec();
        let apart = policy(&format!("not-{}", second.name()), limits);
        for _ in 0..2 {
            assert!(stage.take(first, "k", "1").is_allowed());
            assert!(stage.take(&second, "k", "1").is_allowed());
        }
        let both = [(first, "k", "1", Take), (&second, "k", "1", Take)];
        assert_eq!(letters(&stage.together(&both)), "AA", "{first:?}");
        assert!(!stage.take(first, "k", "1").is_allowed(), "{first:?}");
        assert!(!stage.take(&second, "k", "1").is_allowed(), "{first:?}");
        assert_eq!(stage.takes(&apart, "k", 7), "AAAAAAD", "{apart:?}");
    }
}

/// P45: however names and keys are joined, no two pairs become one.
fn names_and_keys_do_not_run_together<R: Rig>(stage: &Stage<'_, R>) {
    let one = |name: &str, limit: &str| {
        let limit = tidegate::Limit::fixed_window(limit, units("1"), secs(60));
        policy(name, [limit.expect("a limit")])
    };
    let keys = [
        "a", "b", "a:b", "a:b:c", "b:c", "a_b", "a.b", "{a}", "{a}b", "a}b{", "%61", "#a", "a ",
        "A", "ä", ":", "{}", "}{",
    ];
    let policies =
        [one("a", "b"), one("a.b", "c"), one("a", "b.c"), one("a_b", "c"), one("b", "a")];
    for policy in &policies {
        for key in keys {
            assert!(stage.take(policy, key, "1").is_allowed(), "{key} of {policy:?}");
        }
        for key in keys {
            assert!(!stage.take(policy, key, "1").is_allowed(), "{key} of {policy:?}");
        }
    }
}

/// The same key twice in one request asks for the sum.
fn costs_on_one_key_in_one_request_add_up<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("6", secs(60)) {
        let first = stage.together(&[(&policy, "a", "2", Take), (&policy, "a", "1", Take)]);
        assert_eq!(letters(&first), "AA");
        assert_eq!(first.decisions()[0].remaining, units("4"));
        assert_eq!(first.decisions()[1].remaining, units("3"));
        let second = stage.together(&[(&policy, "a", "2", Take), (&policy, "a", "2", Take)]);
        assert_eq!(letters(&second), "AD", "{policy:?}");
        let left: Vec<_> = second.decisions().iter().map(|d| d.remaining).collect();
        assert_eq!(left, [units("3"), units("3")], "{policy:?}");
        let wait = second.decisions()[1].retry_after.expect("a wait");
        stage.at(wait - stage.tick());
        let early = stage.together(&[(&policy, "a", "2", Take), (&policy, "a", "2", Take)]);
        assert_eq!(letters(&early), "AD", "{policy:?}");
        stage.at(wait);
        let third = stage.together(&[(&policy, "a", "2", Take), (&policy, "a", "2", Take)]);
        assert_eq!(letters(&third), "AA", "{policy:?}");
        stage.at(secs(0));
    }
}

/// Two costs that pass alone and never together exceed together, and neither is taken.
fn sum_above_the_limit_exceeds<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(60)) {
        let both = stage.together(&[(&policy, "a", "3", Take), (&policy, "a", "3", Take)]);
        assert_eq!(letters(&both), "AX", "{policy:?}");
        assert_eq!(both.governing(), 1);
        assert_eq!(stage.take(&policy, "a", "5").remaining, Amount::ZERO);
    }
}

/// Without all-or-nothing every check stands alone, in order.
fn each_check_by_itself_charges_what_passes<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(60)) {
        let verdict = stage.each(&[
            (&policy, "a", "3", Take),
            (&policy, "a", "3", Take),
            (&policy, "b", "6", Take),
            (&policy, "a", "2", Take),
        ]);
        assert_eq!(letters(&verdict), "ADXA", "{policy:?}");
        assert_eq!(verdict.governing(), 2);
        let left: Vec<_> = verdict.decisions().iter().map(|d| d.remaining).collect();
        assert_eq!(left, [units("2"), units("2"), units("5"), Amount::ZERO]);
    }
}

/// A debit is for what has happened already: a denial elsewhere does not undo it.
fn debit_is_charged_when_the_request_is_denied<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(60)) {
        let verdict = stage.together(&[(&policy, "a", "2", Debit), (&policy, "b", "6", Take)]);
        assert_eq!(letters(&verdict), "AX", "{policy:?}");
        assert_eq!(verdict.decisions()[0].remaining, units("3"));
        assert_eq!(stage.peek(&policy, "a", "0").remaining, units("3"));
        let debt = stage.together(&[(&policy, "a", "5", Debit), (&policy, "b", "5", Take)]);
        assert_eq!(letters(&debt), "DA", "{policy:?}");
        assert_eq!(stage.peek(&policy, "b", "0").remaining, Amount::ZERO);
    }
}

/// A peek neither adds to the sum nor stops the request when it is denied.
fn peek_in_a_request_does_not_count<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("5", secs(60)) {
        let verdict = stage.together(&[
            (&policy, "a", "5", Peek),
            (&policy, "a", "5", Take),
            (&policy, "a", "1", Peek),
        ]);
        assert_eq!(verdict.decisions()[0].outcome, Outcome::Allow);
        assert_eq!(verdict.decisions()[1].outcome, Outcome::Allow);
        assert!(!verdict.decisions()[2].is_allowed());
        assert_eq!(stage.peek(&policy, "a", "0").remaining, Amount::ZERO, "{policy:?}");
    }
}

/// In a request that passes, each answer shows what is left after it and those before it.
fn remaining_is_after_the_checks_before<R: Rig>(stage: &Stage<'_, R>) {
    for policy in every_algorithm("9", secs(60)) {
        let asked: Vec<_> = ["1", "2", "3"].map(|cost| (&policy, "a", cost, Take)).into();
        let left: Vec<_> = stage.together(&asked).decisions().iter().map(|d| d.remaining).collect();
        assert_eq!(left, [units("8"), units("6"), units("3")], "{policy:?}");
        assert_eq!(allowed(&letters(&stage.together(&asked[..2]))), 2);
    }
}
