//! What every caller may rely on, stated without a model: bounds on what passes, waits that hold.

use proptest::prelude::*;
use proptest::sample::select;
use tidegate::{
    Amount, Check, Cost, Decision, Key, Limit, Mode, Outcome, Policy, Rate, Span, Store, Timestamp,
};
use tidegate_testkit::{MemoryRig, Rig};

/// Where the clock starts: the start of a day.
const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);

/// One request: nanoseconds since the one before, and millionths asked.
type Request = (u64, u64);

/// A store with one key under one policy.
struct Client {
    rig: MemoryRig,
    policy: Policy,
    now: Timestamp,
}

impl Client {
    fn new(limit: Limit) -> Client {
        let client = Client {
            rig: MemoryRig::new(),
            policy: Policy::new("only", [limit]).expect("a policy"),
            now: START,
        };
        client.rig.set_time(client.now);
        client
    }

    fn move_to(&mut self, now: Timestamp) {
        self.now = now;
        self.rig.set_time(now);
    }

    fn ask(&self, micros: u64, mode: Mode) -> Decision {
        let key = Key::new("client").expect("a key");
        let check = Check::take(key, &self.policy, Cost::from_micros(micros)).with_mode(mode);
        let verdict = self.rig.block_on(Store::take(self.rig.store(), &[check]));
        verdict.expect("memory answers").decisions()[0]
    }

    /// Plays a trace and gives what was admitted when.
    fn admitted(&mut self, trace: &[Request]) -> Vec<(Timestamp, u64)> {
        let mut admitted = Vec::new();
        for &(pause, micros) in trace {
            self.move_to(self.now + Span::from_nanos(pause));
            if self.ask(micros, Mode::Take).is_allowed() {
                admitted.push((self.now, micros));
            }
        }
        admitted
    }
}

/// Requests at one instant, close together and far apart.
fn trace() -> impl Strategy<Value = Vec<Request>> {
    let pause = prop_oneof![
        3 => Just(0),
        5 => 1_u64..300_000_000,
        2 => select(&[1_u64, 500_000_000, 1_000_000_000, 3_000_000_000]),
    ];
    let micros = prop_oneof![
        4 => Just(1_000_000_u64),
        3 => 1_u64..4_000_000,
    ];
    prop::collection::vec((pause, micros), 1..120)
}

/// The most that a limit holds, in millionths.
fn max() -> impl Strategy<Value = u64> {
    prop_oneof![select(&[1_000_000_u64, 2_000_000, 5_000_000, 10_000_000]), 1_u64..12_000_000,]
}

fn window() -> impl Strategy<Value = Span> {
    (1_000_u64..4_000_000).prop_map(Span::from_micros)
}

/// A limit of any algorithm, sometimes with spacing.
fn limit() -> impl Strategy<Value = Limit> {
    let spacing = prop_oneof![
        3 => Just(None),
        1 => (1_u64..900).prop_map(|millis| Some(Span::from_millis(millis))),
    ];
    (0..5, max(), window(), spacing).prop_map(|(algorithm, max, window, spacing)| {
        let max = Amount::from_micros(max);
        let limit = match algorithm {
            0 => {
                let rate = Rate::per(max, window).and_then(|rate| rate.nearest_for(max));
                Limit::token_bucket("any", max, rate.expect("a rate"))
            }
            1 => Limit::fixed_window("any", max, window),
            2 => Limit::fixed_window_from_first("any", max, window),
            3 => Limit::rolling_window("any", max, window),
            _ => Limit::sliding_window("any", max, window),
        };
        let limit = limit.expect("a limit");
        match spacing {
            Some(interval) => limit.with_min_interval(interval).expect("an interval"),
            None => limit,
        }
    })
}

/// What was admitted in total.
fn sum(admitted: &[(Timestamp, u64)]) -> u64 {
    admitted.iter().map(|(_, micros)| micros).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// P15, P16, P81: between any two requests no more than the burst and what came in meanwhile.
    #[test]
    fn bucket_never_admits_more_than_burst_and_rate(
        capacity in max(), count in 1_u64..20, period in window(), trace in trace(),
    ) {
        let capacity = Amount::from_micros(capacity);
        let rate = Rate::per(Amount::from_units(count), period).expect("a rate");
        let rate = rate.nearest_for(capacity).expect("a rate that fits");
        let limit = Limit::token_bucket("bucket", capacity, rate).expect("a limit");
        let admitted = Client::new(limit).admitted(&trace);
        for (first, from) in admitted.iter().enumerate() {
            for (last, to) in admitted.iter().enumerate().skip(first) {
                // In units of 1/den millionth per thousand, so that nothing is rounded.
                let scale = 1_000 * u128::from(rate.den());
                let passed = u128::from(sum(&admitted[first..=last])) * scale;
                let came_in = u128::from(to.0.since(from.0).as_nanos()) * u128::from(rate.num());
                let burst = u128::from(capacity.as_micros()) * scale;
                prop_assert!(passed <= burst + came_in, "{:?} to {:?}", from, to);
            }
        }
    }

    /// P11, P16: no window, wherever it begins, holds more than the maximum.
    #[test]
    fn rolling_window_never_holds_more_than_its_maximum(
        max in max(), window in window(), trace in trace(),
    ) {
        let limit = Limit::rolling_window("rolling", Amount::from_micros(max), window);
        let admitted = Client::new(limit.expect("a limit")).admitted(&trace);
        for (place, (end, _)) in admitted.iter().enumerate() {
            let inside = |(at, _): &&(Timestamp, u64)| *at + window > *end;
            let held: Vec<_> = admitted[..=place].iter().filter(inside).copied().collect();
            prop_assert!(sum(&held) <= max, "the window that ends at {:?}", end);
        }
    }

    /// P10: no window of the clock admits more than the maximum.
    #[test]
    fn fixed_window_never_admits_more_than_its_maximum(
        max in max(), window in window(), trace in trace(),
    ) {
        let limit = Limit::fixed_window("fixed", Amount::from_micros(max), window);
        let admitted = Client::new(limit.expect("a limit")).admitted(&trace);
        for (at, _) in &admitted {
            let same = |(other, _): &&(Timestamp, u64)| other.floor_to(window) == at.floor_to(window);
            let held: Vec<_> = admitted.iter().filter(same).copied().collect();
            prop_assert!(sum(&held) <= max, "the window of {:?}", at);
        }
    }

    /// P27: what a client is told makes sense, whatever it asks, also in debt and when back to full.
    #[test]
    fn answers_stay_within_the_limit(
        limit in limit(), trace in trace(), modes in prop::collection::vec(0..4_usize, 120),
    ) {
        let max = limit.algorithm().max();
        let mut client = Client::new(limit);
        let fresh = client.ask(0, Mode::Peek);
        prop_assert_eq!((fresh.remaining, fresh.reset_after), (max, Span::ZERO));
        for ((pause, micros), mode) in trace.into_iter().zip(modes) {
            client.move_to(client.now + Span::from_nanos(pause));
            let mode = [Mode::Take, Mode::Take, Mode::Peek, Mode::Debit][mode];
            let decision = client.ask(micros, mode);
            prop_assert_eq!(decision.limit, max);
            prop_assert!(decision.remaining <= max);
            let denied = decision.outcome == Outcome::Deny;
            prop_assert_eq!(decision.retry_after.is_some(), denied);
            prop_assert!(decision.retry_after != Some(Span::ZERO));
            prop_assert_eq!(decision.outcome == Outcome::Exceeds, micros > max.as_micros());
        }
        let rest = client.ask(0, Mode::Peek).reset_after;
        client.move_to(client.now + rest);
        let full = client.ask(0, Mode::Peek);
        prop_assert_eq!((full.remaining, full.reset_after), (max, Span::ZERO));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// P22: a client that waits as told and is alone passes; one nanosecond earlier it would not.
    #[test]
    fn obeying_client_is_never_denied_again(limit in limit(), trace in trace()) {
        let mut client = Client::new(limit);
        for (pause, micros) in trace {
            client.move_to(client.now + Span::from_nanos(pause));
            let Some(wait) = client.ask(micros, Mode::Take).retry_after else {
                continue;
            };
            let told = client.now + wait;
            client.move_to(told - Span::from_nanos(1));
            let early = client.ask(micros, Mode::Take);
            prop_assert_eq!(early.retry_after, Some(Span::from_nanos(1)));
            client.move_to(told);
            prop_assert_eq!(client.ask(micros, Mode::Take).outcome, Outcome::Allow);
        }
    }
}
