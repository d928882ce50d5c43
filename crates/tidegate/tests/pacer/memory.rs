//! Any limits, costs, arrivals and cancellations over the store in memory.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::select;
use tidegate::{Amount, Check, Cost, Key, Limit, Limiter, Policy, Rate, Span};
use tidegate_testkit::oracle::Oracle;

use crate::driver::{Driver, End, START, Visitor, at_best, virtual_time};

/// What every limit here holds, in millionths: costs are at most that.
const MAX: u64 = 4_000_000;

/// A limit of any algorithm, sometimes with spacing.
fn limit() -> impl Strategy<Value = Limit> {
    let window = (1_000_u64..4_000_000).prop_map(Span::from_micros);
    let spacing = prop_oneof![
        3 => Just(None),
        1 => (1_u64..900).prop_map(|millis| Some(Span::from_millis(millis))),
    ];
    (0..5, window, spacing).prop_map(|(algorithm, window, spacing)| {
        let max = Amount::from_micros(MAX);
        let limit = match algorithm {
            0 => {
                let rate = Rate::per(max, window).and_then(|rate| rate.nearest_for(max));
                Limit::token_bucket("any", max, rate.unwrap())
            }
            1 => Limit::fixed_window("any", max, window),
            2 => Limit::fixed_window_from_first("any", max, window),
            3 => Limit::rolling_window("any", max, window),
            _ => Limit::sliding_window("any", max, window),
        };
        match spacing {
            Some(interval) => limit.unwrap().with_min_interval(interval).unwrap(),
            None => limit.unwrap(),
        }
    })
}

fn visitor() -> impl Strategy<Value = Visitor> {
    let pause = prop_oneof![3 => Just(0_u64), 3 => 1_u64..300_000_000, 1 => 1_u64..5_000_000_000];
    let cost = prop_oneof![2 => Just(1_000_000_u64), 3 => 1_u64..=MAX];
    let leaves = prop_oneof![2 => Just(None), 1 => (1_u64..5_000_000_000).prop_map(Some)];
    (pause, select(&["a", "b"]), cost, leaves).prop_map(|(pause, key, cost, leaves)| Visitor {
        pause,
        key,
        cost: Cost::from_micros(cost),
        patience: None,
        leaves,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Everybody passes exactly when the best server in their order would let them: so the order is
    /// kept, nothing is admitted that the limit forbids, no room is wasted, and one who went away
    /// took nothing and cost nobody's turn.
    #[test]
    fn everybody_passes_in_turn_and_not_a_nanosecond_late(
        limit in limit(), visitors in prop::collection::vec(visitor(), 1..40),
    ) {
        let policy = Policy::new("p", [limit]).unwrap();
        let (store, timer) = virtual_time();
        let pacer = Limiter::new(store, policy.clone()).pacer(timer);
        let (ends, driver) = Driver::new(pacer).play(&visitors);
        let best = at_best(&policy, &visitors);
        let passed: Vec<_> = ends.iter().map(|end| match end {
            End::Passed(at) => Some(*at),
            End::Left => None,
            End::Refused(..) => panic!("nobody is refused: {end:?}"),
        }).collect();
        prop_assert_eq!(passed, best);
        prop_assert_eq!(driver.pacer.waiting(), 0);

        // The same once more, said without the ideal server.
        let mut last = HashMap::new();
        let mut oracle = Oracle::new(Span::from_nanos(1));
        for &place in &driver.passed {
            let visitor = &visitors[place];
            let before = last.insert(visitor.key, place);
            prop_assert!(before < Some(place), "{place} passed after {before:?}");
            let End::Passed(at) = ends[place] else { unreachable!("it passed") };
            let check = Check::take(Key::new(visitor.key).unwrap(), &policy, visitor.cost);
            prop_assert!(oracle.take(at, &[check]).is_allowed());
        }
    }

    /// No polling: a visitor is looked at when it comes, when it becomes the first, and when its
    /// wait is over.
    #[test]
    fn nobody_is_woken_in_vain(count in 1_usize..200) {
        let policy = Policy::new("p", [Limit::quota("l", "10/s burst 1").unwrap()]).unwrap();
        let (store, timer) = virtual_time();
        let pacer = Limiter::new(store, policy).pacer(timer);
        let (ends, driver) = Driver::new(pacer).play(&vec![Visitor::of(Cost::ONE); count]);
        prop_assert!(driver.polls <= 3 * count, "{} polls for {count}", driver.polls);
        let last = START + Span::from_millis(100 * (count as u64 - 1));
        prop_assert_eq!(ends.last(), Some(&End::Passed(last)));
    }
}

#[test]
fn a_cost_that_never_passes_is_refused_at_once() {
    let policy = Policy::new("p", [Limit::quota("l", "5/s").unwrap()]).unwrap();
    let (store, timer) = virtual_time();
    let pacer = Limiter::new(store, policy).pacer(timer.clone());
    let cost = Cost::from_units(6);
    let refused = timer.block_on(pacer.until_ready(Key::new("k").unwrap(), cost));
    let limit = Amount::from_units(5);
    assert_eq!(refused, Err(tidegate::PaceError::Exceeds { cost, limit }));
    assert_eq!(tidegate::Timer::now(&timer), START);
}

#[test]
fn more_than_may_wait_are_turned_away_and_hold_up_nobody() {
    let policy = Policy::new("p", [Limit::quota("l", "1/s").unwrap()]).unwrap();
    let (store, timer) = virtual_time();
    let pacer = Limiter::new(store, policy).pacer(timer).with_max_waiting(2);
    let (ends, _) = Driver::new(pacer).play(&vec![Visitor::of(Cost::ONE); 4]);
    let second = |count| End::Passed(START + Span::from_secs(count));
    let crowded = End::Refused(START, tidegate::PaceError::Crowded { waiting: 2 });
    assert_eq!(ends, [second(0), second(1), second(2), crowded]);
}

#[test]
fn jitter_only_lengthens_a_sleep_and_stays_within_its_bound() {
    let policy = Policy::new("p", [Limit::quota("l", "1/s").unwrap()]).unwrap();
    let (store, timer) = virtual_time();
    let pacer = Limiter::new(store, policy).pacer(timer).with_jitter(Span::from_millis(100));
    let (ends, _) = Driver::new(pacer).play(&vec![Visitor::of(Cost::ONE); 50]);
    let mut before = START;
    let mut added = Span::ZERO;
    for end in &ends[1..] {
        let End::Passed(at) = end else { panic!("{end:?}") };
        assert!(at.since(before) <= Span::from_millis(1_100));
        before = *at;
    }
    added = added + (before.since(START) - Span::from_secs(49));
    assert!(added > Span::ZERO && added <= Span::from_millis(4_900), "{added}");
}

#[test]
fn a_pause_holds_back_its_key_alone_and_the_later_end_counts() {
    let policy = Policy::new("p", [Limit::quota("l", "5/s").unwrap()]).unwrap();
    let (store, timer) = virtual_time();
    let pacer = Limiter::new(store, policy).pacer(timer);
    let key = Key::new("a").unwrap();
    pacer.pause(key, Span::from_secs(30));
    pacer.pause(key, Span::from_secs(10));
    let visitor = |key| Visitor { key, ..Visitor::of(Cost::ONE) };
    let (ends, _) = Driver::new(pacer).play(&[visitor("a"), visitor("b"), visitor("a")]);
    let late = End::Passed(START + Span::from_secs(30));
    assert_eq!(ends, [late.clone(), End::Passed(START), late]);
}
