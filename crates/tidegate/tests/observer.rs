//! What an observer hears.

use std::sync::{Arc, Mutex};

use tidegate::{
    Amount, Check, Cost, Key, Limit, Limiter, ManualClock, ManualTimer, MemoryConfig, MemoryStore,
    Observer, Outcome, Policy, Span, Store, StoreError, StoreErrorKind, Timestamp,
};
use tidegate_testkit::block_on_ready;

/// Remembers what it heard: policy, limit, and how it ended.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Observer for Heard {
    fn decision(
        &self,
        policy: &Policy,
        limit: Option<&Limit>,
        outcome: Result<Outcome, &StoreError>,
        _elapsed: Span,
    ) {
        let limit = limit.map_or("-", |limit| limit.name().as_str());
        let outcome = outcome.map_or_else(ToString::to_string, |outcome| format!("{outcome:?}"));
        self.0.lock().expect("a lock").push(format!("{} {limit} {outcome}", policy.name()));
    }
}

impl Heard {
    fn all(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("a lock"))
    }
}

fn policy(text: &str) -> Policy {
    Policy::new("api", [Limit::quota("burst", text).expect("a limit")]).expect("a policy")
}

#[test]
fn a_limiter_tells_of_what_takes_and_not_of_what_looks() {
    let heard = Arc::new(Heard::default());
    let limiter =
        Limiter::new(MemoryStore::new(), policy("1/hour")).with_observer(Arc::clone(&heard));
    limiter.check("a").expect("a key");
    limiter.check("a").expect("a key");
    limiter.check_cost("a", Amount::from_units(2)).expect("a key");
    limiter.peek("a", Cost::ONE).expect("a key");
    limiter.check_cost("a", Cost::ZERO).expect("a key");
    limiter.debit("a", Cost::ONE).expect("a key");
    let told = ["api burst Allow", "api burst Deny", "api burst Exceeds", "api burst Deny"];
    assert_eq!(heard.all(), told);
    let later = limiter.check_async(Key::new("b").expect("a key"), Cost::ONE);
    assert!(block_on_ready(later).expect("memory answers").is_allowed());
    assert_eq!(heard.all(), ["api burst Allow"]);
    limiter.check_many(&["c", "c", "d"]).expect("keys");
    assert_eq!(heard.all(), ["api burst Allow", "api burst Deny", "api burst Allow"]);
}

#[test]
fn a_pacer_tells_of_every_question() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
    let timer = ManualTimer::new(Arc::clone(&clock));
    let store = MemoryStore::with_clock(MemoryConfig::default(), clock);
    let heard = Arc::new(Heard::default());
    let pacer = Limiter::new(store, policy("1/hour"))
        .with_observer(Arc::clone(&heard))
        .pacer(timer.clone());
    let key = Key::new("a").expect("a key");
    timer.block_on(pacer.until_ready(key, Cost::ONE)).expect("passes");
    timer.block_on(pacer.until_ready(key, Cost::ONE)).expect("passes");
    assert_eq!(heard.all(), ["api burst Allow", "api burst Deny", "api burst Allow"]);
}

#[test]
fn what_a_denied_call_did_not_take_is_told_as_denied() {
    let heard = Heard::default();
    let (one, two) = (policy("1/hour"), policy("2/hour"));
    let store = MemoryStore::new();
    let key = |text| Key::new(text).expect("a key");
    let checks = [
        Check::take(key("a"), &two, Cost::ONE),
        Check::debit(key("b"), &two, Cost::ONE),
        Check::peek(key("c"), &two, Cost::ONE),
        Check::take(key("d"), &one, Amount::from_units(2)),
    ];
    let verdict = store.take(&checks);
    heard.answered(&checks, Ok(&verdict), Span::ZERO);
    assert_eq!(heard.all(), ["api burst Deny", "api burst Allow", "api burst Exceeds"]);
    let error = StoreError::new(StoreErrorKind::Timeout, "late");
    heard.answered(&checks[..1], Err(&error), Span::ZERO);
    assert_eq!(heard.all(), ["api - store timed out: late"]);
    // It borrows as any store does.
    assert!(block_on_ready(Store::take(&store, &checks[..1])).is_ok());
}
