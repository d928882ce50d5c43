//! A million new keys against a store of ten thousand: it never holds more, a key over its limit stays
//! denied, and nobody gets more than a limit.

use std::sync::Arc;

use tidegate::{
    Amount, Check, Cost, Decision, Key, Limit, ManualClock, MemoryConfig, MemoryStore, Overflow,
    Policy, Rate, Span, Timestamp,
};
use tidegate_testkit::oracle::Oracle;

const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);
const MAX_KEYS: usize = 10_000;
const FLOOD: usize = 1_000_000;
const HOUR: Span = Span::from_secs(3_600);

struct Flooded {
    clock: Arc<ManualClock>,
    store: MemoryStore<Arc<ManualClock>>,
    policy: Policy,
}

impl Flooded {
    /// A store that is full of keys which have used one unit of an hourly limit of `max`.
    fn new(overflow: Overflow, max: u64) -> Flooded {
        let clock = Arc::new(ManualClock::new(START));
        let config = MemoryConfig { max_keys: MAX_KEYS, overflow, ..MemoryConfig::default() };
        let max = Amount::from_units(max);
        let rate = Rate::per(max, HOUR).expect("a rate");
        let limit = Limit::token_bucket("hourly", max, rate).expect("a limit");
        Flooded {
            store: MemoryStore::with_clock(config, clock.clone()),
            clock,
            policy: Policy::new("flooded", [limit]).expect("a policy"),
        }
    }

    fn check<'a>(&'a self, name: &'a str) -> Check<'a> {
        Check::take(Key::new(name).expect("a key"), &self.policy, Cost::ONE)
    }

    fn take(&self, name: &str) -> Decision {
        self.store.take_one(&self.check(name))
    }

    fn passes(&self, name: &str, times: usize) -> usize {
        (0..times).filter(|_| self.take(name).is_allowed()).count()
    }

    /// Asks once for each of so many new keys, a microsecond apart, and says how many passed.
    fn flood(&self, from: usize, keys: usize) -> usize {
        let new_key = |number: usize| {
            self.clock.advance(Span::from_micros(1));
            let passes = self.take(&format!("flood-{number}")).is_allowed();
            assert!(self.store.len() <= MAX_KEYS);
            passes
        };
        (from..from + keys).filter(|number| new_key(*number)).count()
    }
}

/// A key has used its three an hour; then come a million new keys, and it is asked again all the while.
fn stays_denied(overflow: Overflow) -> Flooded {
    let flooded = Flooded::new(overflow, 3);
    assert_eq!(flooded.passes("victim", 5), 3);
    for part in 0..1_000 {
        flooded.flood(part * FLOOD / 1_000, FLOOD / 1_000);
        let denied = flooded.take("victim");
        assert!(!denied.is_allowed(), "after {} new keys: {denied:?}", part * FLOOD / 1_000);
        assert!(denied.remaining < Amount::ONE);
    }
    assert_eq!(flooded.store.len(), MAX_KEYS);
    // A third of an hour after it was full it has one, and no more.
    flooded.clock.set(START + Span::from_secs(1_200));
    assert_eq!(flooded.passes("victim", 5), 1);
    flooded
}

/// P54 (b).
#[test]
fn limited_key_stays_denied_while_a_million_share_states() {
    let flooded = stays_denied(Overflow::Shared);
    assert!(flooded.store.overflowed() > 900_000);
}

/// P54 (b).
#[test]
fn limited_key_stays_denied_while_a_million_are_denied() {
    stays_denied(Overflow::Deny);
}

/// P54 (b).
#[test]
fn limited_key_stays_denied_while_a_million_are_allowed() {
    stays_denied(Overflow::Allow);
}

/// P54 (b): what each stance does with new keys once the store is full: with `deny` all are denied, with
/// `allow` none is, however often it asks.
#[test]
fn new_keys_get_what_the_stance_says() {
    for (overflow, expected) in [(Overflow::Deny, 0), (Overflow::Allow, 20_000)] {
        let flooded = Flooded::new(overflow, 3);
        assert_eq!(flooded.flood(0, MAX_KEYS), MAX_KEYS);
        assert_eq!(flooded.flood(MAX_KEYS, 20_000), expected, "{overflow:?}");
        assert_eq!(flooded.passes("newcomer", 10), expected.min(10), "{overflow:?}");
    }
}

/// P54 (b): whatever the shared states have come to, a new key passes no more often than the model that
/// was charged the same would let it, neither at once nor over hours.
#[test]
fn shared_states_never_give_a_new_key_too_much() {
    let flooded = Flooded::new(Overflow::Shared, 5);
    flooded.flood(0, MAX_KEYS);
    let (mut model, mut passed) = (Oracle::new(Span::from_nanos(1)), 0);
    for number in 0..3_000 {
        // A flood goes on beside, and an hour goes by in two hundred of these.
        flooded.flood(MAX_KEYS + number * 5, 5);
        flooded.clock.advance(Span::from_secs(18));
        let name = format!("newcomer-{}", number % 1_000);
        let check = flooded.check(&name);
        for _ in 0..7 {
            let now = tidegate::Clock::now(&flooded.clock);
            if flooded.store.take_one(&check).is_allowed() {
                passed += 1;
                assert!(model.take(now, &[check]).is_allowed(), "{name} got one too many");
            }
        }
        assert!(flooded.store.len() <= MAX_KEYS);
    }
    assert!(passed > 2_500, "only {passed} of 21,000 passed");
    assert!(flooded.store.overflowed() > 0);
}

/// P54 (b): honest new keys, at a hundredth of their limit, pass after a flood as large as the store.
#[test]
fn honest_new_keys_pass_beside_a_flood() {
    let flooded = Flooded::new(Overflow::Shared, 100);
    flooded.flood(0, MAX_KEYS);
    assert_eq!(flooded.store.overflowed(), 0);
    let strangers = flooded.flood(MAX_KEYS, MAX_KEYS);
    assert!(strangers >= MAX_KEYS * 95 / 100, "{strangers}");
    let honest = (0..1_000).filter(|n| flooded.take(&format!("honest-{n}")).is_allowed()).count();
    assert!(honest >= 950, "{honest} of 1000");
    assert_eq!(flooded.store.len(), MAX_KEYS);
}
