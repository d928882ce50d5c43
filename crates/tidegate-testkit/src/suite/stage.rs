//! Where a claim is played: a store, a clock that starts at a boundary of a day, and keys that
//! nobody else uses.

use tidegate::{
    Check, Cost, Decision, Key, Limit, Mode, Outcome, Policy, Rate, Span, Store, Timestamp, Verdict,
};

use crate::rig::Rig;

/// Zero of every claim's clock: the start of the UTC day 2026-12-02.
const ZERO: Timestamp = Timestamp::from_secs(1_796_169_600);

/// A store, and the name of the claim that is played on it.
pub(super) struct Stage<'a, R> {
    rig: &'a R,
    name: &'static str,
}

impl<'a, R: Rig> Stage<'a, R> {
    /// A stage with the clock at zero.
    pub(super) fn new(rig: &'a R, name: &'static str) -> Stage<'a, R> {
        rig.set_time(ZERO);
        Stage { rig, name }
    }

    /// Sets the clock so long after zero.
    pub(super) fn at(&self, after: Span) {
        self.rig.set_time(ZERO + after);
    }

    /// Sets the clock so long before zero.
    pub(super) fn before(&self, before: Span) {
        self.rig.set_time(ZERO - before);
    }

    /// The store's unit of time.
    pub(super) fn tick(&self) -> Span {
        self.rig.tick()
    }

    /// This key's name in this claim alone.
    pub(super) fn own(&self, key: &str) -> String {
        format!("{}/{key}", self.name)
    }

    /// Takes `cost` for a key.
    pub(super) fn take(&self, policy: &Policy, key: &str, cost: &str) -> Decision {
        self.ask(policy, key, cost, Mode::Take)
    }

    /// Asks what `cost` would get.
    pub(super) fn peek(&self, policy: &Policy, key: &str, cost: &str) -> Decision {
        self.ask(policy, key, cost, Mode::Peek)
    }

    /// Charges `cost` whatever is left.
    pub(super) fn debit(&self, policy: &Policy, key: &str, cost: &str) -> Decision {
        self.ask(policy, key, cost, Mode::Debit)
    }

    fn ask(&self, policy: &Policy, key: &str, cost: &str, mode: Mode) -> Decision {
        self.together(&[(policy, key, cost, mode)]).decisions()[0]
    }

    /// Takes one unit so many times; the outcomes as letters.
    pub(super) fn takes(&self, policy: &Policy, key: &str, times: usize) -> String {
        let once = |_| letter(&self.take(policy, key, "1"));
        (0..times).map(once).collect()
    }

    /// Decides all these in one request.
    pub(super) fn together(&self, asked: &[(&Policy, &str, &str, Mode)]) -> Verdict {
        self.with_checks(asked, |checks| {
            let verdict = self.rig.block_on(self.rig.store().take(checks));
            verdict.expect("the store answers")
        })
    }

    /// Decides each of these by itself in one call.
    pub(super) fn each(&self, asked: &[(&Policy, &str, &str, Mode)]) -> Verdict {
        self.with_checks(asked, |checks| {
            let verdict = self.rig.block_on(self.rig.store().take_each(checks));
            verdict.expect("the store answers")
        })
    }

    /// Gives back what was taken so long after zero.
    pub(super) fn refund(&self, policy: &Policy, key: &str, cost: &str, taken: Span) {
        self.with_checks(&[(policy, key, cost, Mode::Take)], |checks| {
            let done = self.rig.block_on(self.rig.store().refund(checks, ZERO + taken));
            done.expect("the store answers");
        });
    }

    /// Forgets a key.
    pub(super) fn reset(&self, policy: &Policy, key: &str) {
        self.with_checks(&[(policy, key, "1", Mode::Take)], |checks| {
            let done = self.rig.block_on(self.rig.store().reset(checks));
            done.expect("the store answers");
        });
    }

    fn with_checks<T>(
        &self,
        asked: &[(&Policy, &str, &str, Mode)],
        then: impl FnOnce(&[Check<'_>]) -> T,
    ) -> T {
        let keys: Vec<String> = asked.iter().map(|(_, key, ..)| self.own(key)).collect();
        let checks: Vec<Check<'_>> = asked
            .iter()
            .zip(&keys)
            .map(|((policy, _, cost, mode), key)| {
                let key = Key::new(key).expect("a key");
                Check::take(key, policy, units(cost)).with_mode(*mode)
            })
            .collect();
        then(&checks)
    }
}

/// A letter for an outcome: A allowed, D denied, X exceeds.
pub(super) fn letter(decision: &Decision) -> char {
    match decision.outcome {
        Outcome::Allow => 'A',
        Outcome::Deny => 'D',
        Outcome::Exceeds => 'X',
    }
}

/// The outcomes of a verdict as letters.
pub(super) fn letters(verdict: &Verdict) -> String {
    verdict.decisions().iter().map(letter).collect()
}

/// How many of these letters allow.
pub(super) fn allowed(letters: &str) -> usize {
    letters.matches('A').count()
}

/// A decimal of units.
pub(super) fn units(cost: &str) -> Cost {
    cost.parse().expect("a decimal")
}

/// So many seconds.
pub(super) fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

/// So many milliseconds.
pub(super) fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// A bucket: `capacity` units, refilled by `count` every `period`.
pub(super) fn bucket(capacity: &str, count: &str, period: Span) -> Limit {
    bucket_named("bucket", capacity, count, period)
}

/// A bucket of this name.
pub(super) fn bucket_named(name: &str, capacity: &str, count: &str, period: Span) -> Limit {
    let rate = Rate::per(units(count), period).expect("a rate");
    Limit::token_bucket(name, units(capacity), rate).expect("a limit")
}

/// A fixed window aligned to the epoch.
pub(super) fn fixed(max: &str, window: Span) -> Limit {
    Limit::fixed_window("fixed", units(max), window).expect("a limit")
}

/// A fixed window from the first request.
pub(super) fn first_request(max: &str, window: Span) -> Limit {
    Limit::fixed_window_from_first("first", units(max), window).expect("a limit")
}

/// A rolling window.
pub(super) fn rolling(max: &str, window: Span) -> Limit {
    Limit::rolling_window("rolling", units(max), window).expect("a limit")
}

/// A sliding window.
pub(super) fn sliding(max: &str, window: Span) -> Limit {
    Limit::sliding_window("sliding", units(max), window).expect("a limit")
}

/// A policy of one limit.
pub(super) fn only(limit: Limit) -> Policy {
    policy("only", [limit])
}

/// A policy of these limits.
pub(super) fn policy(name: &str, limits: impl IntoIterator<Item = Limit>) -> Policy {
    Policy::new(name, limits).expect("a policy")
}

/// A policy of one limit for each algorithm: so much per window, the bucket refilled as fast.
pub(super) fn every_algorithm(max: &str, window: Span) -> Vec<Policy> {
    vec![
        policy("bucket", [bucket(max, max, window)]),
        policy("fixed", [fixed(max, window)]),
        policy("first", [first_request(max, window)]),
        policy("rolling", [rolling(max, window)]),
        policy("sliding", [sliding(max, window)]),
    ]
}
