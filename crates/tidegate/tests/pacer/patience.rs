//! Deadlines: who cannot pass in time is told so, takes nothing, and holds up nobody.

use proptest::prelude::*;
use tidegate::{Cost, Limit, Limiter, PaceError, Policy, Span};

use crate::driver::{Driver, End, START, Visitor, at_best, virtual_time};

fn visitor() -> impl Strategy<Value = Visitor> {
    let pause = prop_oneof![1 => Just(0_u64), 1 => 1_u64..400_000_000];
    let patience = prop::option::of((0_u64..6_000).prop_map(Span::from_millis));
    (pause, 1_u64..=3_000_000, patience).prop_map(|(pause, cost, patience)| Visitor {
        pause,
        patience,
        ..Visitor::of(Cost::from_micros(cost))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of a bucket it is known at once, however long the line, who passes in time: those and only
    /// those wait, and each of them passes.
    #[test]
    fn a_bucket_tells_at_once_who_cannot_pass_in_time(
        visitors in prop::collection::vec(visitor(), 1..24),
    ) {
        let policy = Policy::new("p", [Limit::quota("l", "2/s burst 3").unwrap()]).unwrap();
        let (store, timer) = virtual_time();
        let pacer = Limiter::new(store, policy.clone()).pacer(timer);
        let (ends, _) = Driver::new(pacer).play(&visitors);
        let mut at = START;
        let mut waited = Vec::new();
        for (visitor, end) in visitors.iter().zip(&ends) {
            at = at + Span::from_nanos(visitor.pause);
            // Who was refused before has no part in it.
            let pause = at.since(START).as_nanos() - waited.iter().map(|v: &Visitor| v.pause).sum::<u64>();
            waited.push(Visitor { pause, ..visitor.clone() });
            let best = at_best(&policy, &waited).pop().flatten().unwrap();
            let is_late = visitor.patience.is_some_and(|patience| best > at + patience);
            if !is_late {
                prop_assert_eq!(end, &End::Passed(best));
                continue;
            }
            waited.pop();
            let End::Refused(when, PaceError::TooLong { wait: Some(wait) }) = end else {
                return Err(TestCaseError::fail(format!("{end:?} of {visitor:?}")));
            };
            prop_assert_eq!(*when, at);
            prop_assert!(*wait <= best.since(at) && best.since(at) <= *wait + Span::from_nanos(2));
        }
    }

    /// Of windows too: nobody passes after its deadline, nobody is told of a wait that is too long,
    /// and who was refused took nothing.
    #[test]
    fn nobody_passes_late_and_who_is_refused_took_nothing(
        algorithm in 0..3, visitors in prop::collection::vec(visitor(), 1..24),
    ) {
        let (max, window) = (Cost::from_units(3), Span::from_millis(1_500));
        let limit = match algorithm {
            0 => Limit::fixed_window("l", max, window),
            1 => Limit::rolling_window("l", max, window),
            _ => Limit::sliding_window("l", max, window),
        };
        let policy = Policy::new("p", [limit.unwrap()]).unwrap();
        let (store, timer) = virtual_time();
        let pacer = Limiter::new(store, policy.clone()).pacer(timer);
        let (ends, _) = Driver::new(pacer).play(&visitors);
        let mut at = START;
        let mut served = Vec::new();
        for (visitor, end) in visitors.iter().zip(&ends) {
            at = at + Span::from_nanos(visitor.pause);
            let deadline = visitor.patience.map(|patience| at + patience);
            let pause = at.since(START).as_nanos() - served.iter().map(|v: &Visitor| v.pause).sum::<u64>();
            served.push(Visitor { pause, ..visitor.clone() });
            let best = at_best(&policy, &served).pop().flatten().unwrap();
            match end {
                End::Passed(when) => {
                    prop_assert!(deadline.is_none_or(|deadline| *when <= deadline));
                    // Others may have stood before it until they were refused; never the other way.
                    prop_assert!(best <= *when);
                }
                End::Refused(when, PaceError::TooLong { .. }) => {
                    served.pop();
                    prop_assert!(Some(*when) <= deadline);
                }
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            }
        }
    }
}
