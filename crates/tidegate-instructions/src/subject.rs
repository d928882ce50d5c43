//! A limiter in virtual time, and the keys that ask it.

use std::hint::black_box;
use std::sync::Arc;

use tidegate::{
    Amount, Check, Cost, Key, Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Rate,
    Span, Timestamp,
};

/// Noon of a day, so that no window ends by chance.
const NOON: Timestamp = Timestamp::from_secs(20_000 * 86_400 + 43_200);
/// What every limit counts in.
pub(crate) const HOUR: Span = Span::from_secs(3_600);
/// More than any key asks for.
pub(crate) const ROOMY: Amount = Amount::from_units(1_000_000);

/// A limiter over an empty memory store.
pub(crate) struct Subject {
    clock: Arc<ManualClock>,
    limiter: Limiter<MemoryStore<Arc<ManualClock>>>,
}

impl Subject {
    pub(crate) fn new(limits: impl IntoIterator<Item = Limit>) -> Subject {
        let clock = Arc::new(ManualClock::new(NOON));
        let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
        let policy = Policy::new("walked", limits).expect("these limits go together");
        Subject { clock, limiter: Limiter::new(store, policy) }
    }

    /// Asks for each of these keys.
    pub(crate) fn ask(&self, keys: &[String]) {
        for key in keys {
            let _ = black_box(self.limiter.check(black_box(key)));
        }
    }

    /// Asks for each of these keys so many times, time going on by a part of an hour after each.
    pub(crate) fn ask_through_an_hour(&self, keys: &[String], times: u32) {
        for _ in 0..times {
            self.ask(keys);
            self.clock.advance(Span::from_nanos(HOUR.as_nanos() / u64::from(times)));
        }
    }

    /// Asks for sixteen of these keys at a time, each by itself.
    pub(crate) fn ask_by_sixteen(&self, keys: &[String]) {
        let policy = self.limiter.policy();
        for keys in keys.as_chunks::<16>().0 {
            let checks = std::array::from_fn::<_, 16, _>(|at| {
                Check::take(Key::new(&keys[at]).expect("a short key"), policy, Cost::ONE)
            });
            black_box(self.limiter.store().take_each(black_box(&checks)));
        }
    }

    /// Asks for each of these keys and writes what an HTTP answer would say of it.
    pub(crate) fn ask_and_write(&self, keys: &[String]) {
        let mut field = Vec::with_capacity(64);
        for key in keys {
            let decision = self.limiter.check(black_box(key)).expect("a short key");
            field.clear();
            decision.write_state_field(self.limiter.policy(), &mut field);
            black_box(&field);
        }
    }
}

/// A token bucket that holds so much and fills in an hour.
pub(crate) fn bucket(capacity: Amount) -> Limit {
    let rate = Rate::per(capacity, HOUR).expect("an hour is not zero");
    Limit::token_bucket("bucket", capacity, rate).expect("a valid limit")
}

/// So many different keys of eleven bytes.
pub(crate) fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("user:{number:06x}")).collect()
}
