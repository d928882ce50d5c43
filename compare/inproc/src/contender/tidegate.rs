use std::hint::black_box;
use std::sync::Arc;

use ::tidegate::{
    Amount, Clock, Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Rate, Span,
    SystemClock, Timestamp,
};

use super::{Contender, Quota};

/// How many checks go into one batch.
const BATCH: usize = 16;

/// The product: one policy over a memory store.
pub struct Tidegate<C: Clock = SystemClock>(Limiter<MemoryStore<C>>);

impl Tidegate {
    /// A token bucket on the machine's clock, in a store of default size.
    pub fn new(quota: Quota) -> Tidegate {
        Tidegate::with_policy(MemoryStore::new(), policy([token_bucket(quota)]))
    }
}

impl<C: Clock> Tidegate<C> {
    /// Any policy over any memory store.
    pub fn with_policy(store: MemoryStore<C>, policy: Policy) -> Tidegate<C> {
        Tidegate(Limiter::new(store, policy))
    }

    /// The store.
    pub fn store(&self) -> &MemoryStore<C> {
        self.0.store()
    }
}

impl Tidegate<Arc<PacedClock>> {
    /// Any limits, in a store of this size, on a clock that moves when told.
    pub fn paced(
        config: MemoryConfig,
        clock: &Arc<PacedClock>,
        limits: impl IntoIterator<Item = Limit>,
    ) -> Tidegate<Arc<PacedClock>> {
        let store = MemoryStore::with_clock(config, Arc::clone(clock));
        Tidegate::with_policy(store, policy(limits))
    }
}

/// A policy of these limits.
fn policy(limits: impl IntoIterator<Item = Limit>) -> Policy {
    Policy::new("bench", limits).expect("the limits of a bench are valid")
}

/// The quota as a token bucket.
pub fn token_bucket(quota: Quota) -> Limit {
    let rate = Rate::per(Amount::ONE, Span::from_secs(u64::from(quota.period)));
    let capacity = Amount::from_units(u64::from(quota.burst));
    Limit::token_bucket("bucket", capacity, rate.expect("a period above zero"))
        .expect("the quota of a bench is valid")
}

impl<C: Clock> Contender for Tidegate<C> {
    fn check(&self, key: &String) -> bool {
        black_box(self.0.check(key)).is_ok_and(|decision| decision.is_allowed())
    }
}

/// The same in batches.
pub struct Batched<'a>(pub &'a Tidegate);

impl Contender for Batched<'_> {
    fn check(&self, key: &String) -> bool {
        self.0.check(key)
    }

    fn check_all(&self, keys: &[String]) -> usize {
        let allowed = |keys: &[String]| {
            let decisions = black_box(self.0.0.check_many(keys)).unwrap_or_default();
            decisions
                .iter()
                .filter(|decision| decision.is_allowed())
                .count()
        };
        keys.chunks(BATCH).map(allowed).sum()
    }
}

/// A clock that moves only when told, and costs what the machine's clock costs.
#[derive(Debug)]
pub struct PacedClock {
    time: ManualClock,
    cost: SystemClock,
}

impl PacedClock {
    /// A clock that stands at the machine's time.
    pub fn new() -> Arc<PacedClock> {
        let cost = SystemClock::new();
        let time = ManualClock::new(cost.now());
        Arc::new(PacedClock { time, cost })
    }

    /// Moves it on.
    pub fn advance(&self, span: Span) {
        self.time.advance(span);
    }
}

impl Clock for PacedClock {
    fn now(&self) -> Timestamp {
        black_box(self.cost.now());
        self.time.now()
    }
}
