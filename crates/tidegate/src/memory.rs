//! The store in memory: sharded, bounded, and given back when no longer needed.

mod account;
mod batch;
mod flat;
mod hash;
mod hint;
mod lock;
mod overflow;
mod shard;
mod sweep;
mod table;

use std::fmt;
use std::future::Ready;
use std::sync::Arc;

use crate::check::Check;
use crate::clock::{Clock, SystemClock};
use crate::decision::{Decision, Verdict};
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

use sweep::Sweeper;
use table::Table;

/// What the store does with a new key when it holds `max_keys` keys that are all in use.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Limiter, MemoryConfig, MemoryStore, Overflow, Policy};
///
/// let config = MemoryConfig { max_keys: 1, overflow: Overflow::Deny, ..Default::default() };
/// let policy = Policy::new("api", [Limit::quota("burst", "5/hour")?])?;
/// let limiter = Limiter::new(MemoryStore::with_config(config), policy);
/// assert!(limiter.check("alice")?.is_allowed());
/// assert!(!limiter.check("bob")?.is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Counts new keys in a fixed number of shared states, several per key: a key may be denied early
    /// because of others, and is never allowed too much.
    #[default]
    Shared,
    /// Denies new keys.
    Deny,
    /// Allows new keys, uncounted.
    Allow,
}

/// How large a memory store may become, and what then.
///
/// # Examples
///
/// ```
/// use tidegate::{MemoryConfig, MemoryStore, Overflow};
///
/// let config = MemoryConfig { max_keys: 100_000, overflow: Overflow::Deny, ..Default::default() };
/// assert!(MemoryStore::with_config(config).is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// The most keys held at once, counted per policy; 10 million by default, and at least 1.
    pub max_keys: usize,
    /// What happens to new keys beyond it.
    pub overflow: Overflow,
    /// How many shards to use, rounded up to a power of two; none lets the store choose.
    pub shards: Option<usize>,
}

impl Default for MemoryConfig {
    fn default() -> MemoryConfig {
        MemoryConfig { max_keys: 10_000_000, overflow: Overflow::Shared, shards: None }
    }
}

/// The store in memory: exact, atomic over all checks of a call, bounded in keys.
///
/// It keeps a keyed 64-bit hash (SipHash-1-3 under a random key) in place of each policy and key. A
/// key's state that is back to full equals none and is dropped; a key that is over its limit is
/// never forgotten.
///
/// Clones are one store, which ends, with its sweeping thread, when the last of them is dropped. What
/// several limiters over one store count is kept apart by the names of their policies.
///
/// # Examples
///
/// ```
/// use tidegate::{Check, Cost, Key, Limit, MemoryStore, Policy};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "1/minute")?])?;
/// let store = MemoryStore::new();
/// let check = Check::take(Key::new("alice")?, &policy, Cost::ONE);
/// assert!(store.take_one(&check).is_allowed());
/// assert!(!store.take_one(&check).is_allowed());
/// store.reset(&[check]);
/// assert!(store.take_one(&check).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryStore<C: Clock = SystemClock> {
    table: Arc<Table>,
    clock: Arc<C>,
    /// Sweeps until it is dropped; absent where the owner of the clock sweeps.
    _sweeper: Option<Arc<Sweeper>>,
}

impl MemoryStore {
    /// A store of default size on the machine's clock.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::with_config(MemoryConfig::default())
    }

    /// A store of this size on the machine's clock.
    ///
    /// A thread of its own drops what is back to full, without traffic too; it ends with the store.
    #[must_use]
    pub fn with_config(config: MemoryConfig) -> MemoryStore {
        let mut store = MemoryStore::with_clock(config, SystemClock::new());
        store._sweeper = Sweeper::start(&store.table, &store.clock).map(Arc::new);
        store
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl<C: Clock> MemoryStore<C> {
    /// A store of this size on a clock of the caller's. Nothing sweeps it but
    /// [`MemoryStore::sweep`] and the need for room.
    #[must_use]
    pub fn with_clock(config: MemoryConfig, clock: C) -> MemoryStore<C> {
        MemoryStore { table: Arc::new(Table::new(&config)), clock: Arc::new(clock), _sweeper: None }
    }

    /// Decides one check and takes what it takes.
    pub fn take_one(&self, check: &Check<'_>) -> Decision {
        self.table.take_one(check, self.clock.now())
    }

    /// Decides all checks together (see [`Store::take`]).
    pub fn take(&self, checks: &[Check<'_>]) -> Verdict {
        let now = self.clock.now();
        match checks {
            [check] => Verdict::one(now, self.table.take_one(check, now)),
            checks => Verdict::many(now, self.table.take_all(checks, now)),
        }
    }

    /// Decides each check on its own, in order (see [`Store::take_each`]).
    pub fn take_each(&self, checks: &[Check<'_>]) -> Verdict {
        let now = self.clock.now();
        Verdict::many(now, self.table.take_each(checks, now))
    }

    /// Gives back what the checks took at `taken_at` (see [`Store::refund`]).
    pub fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) {
        let now = self.clock.now();
        for check in checks {
            self.table.refund(check, now, taken_at);
        }
    }

    /// Forgets what the keys of these checks have used (see [`Store::reset`]).
    ///
    /// What a key used while the store was full and [`Overflow::Shared`] counted it together with
    /// others is not forgotten: it cannot be told from what the others used.
    pub fn reset(&self, checks: &[Check<'_>]) {
        let now = self.clock.now();
        for check in checks {
            self.table.reset(check, now);
        }
    }

    /// How many keys are held, counted per policy.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no key is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many checks met a full store and were decided by the overflow stance.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.table.overflowed()
    }

    /// Drops every key that is back to full now, and gives its memory back.
    pub fn sweep(&self) {
        let now = self.clock.now();
        self.table.look_at_clock(now);
        (0..self.table.shard_count()).for_each(|shard| self.table.sweep(shard, now));
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &C {
        &self.clock
    }
}

impl<C: Clock> Clone for MemoryStore<C> {
    fn clone(&self) -> MemoryStore<C> {
        MemoryStore {
            table: Arc::clone(&self.table),
            clock: Arc::clone(&self.clock),
            _sweeper: self._sweeper.clone(),
        }
    }
}

impl<C: Clock> fmt::Debug for MemoryStore<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("keys", &self.len()).finish_non_exhaustive()
    }
}

/// The same operations, ready at once: the memory store never fails and never waits.
impl<C: Clock> Store for MemoryStore<C> {
    type Take = Ready<Result<Verdict, StoreError>>;
    type Done = Ready<Result<(), StoreError>>;

    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        std::future::ready(Ok(MemoryStore::take(self, checks)))
    }

    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        std::future::ready(Ok(MemoryStore::take_each(self, checks)))
    }

    #[inline]
    fn take_now(&self, check: &Check<'_>) -> Option<Decision> {
        Some(self.take_one(check))
    }

    fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Self::Done {
        MemoryStore::refund(self, checks, taken_at);
        std::future::ready(Ok(()))
    }

    fn reset(&self, checks: &[Check<'_>]) -> Self::Done {
        MemoryStore::reset(self, checks);
        std::future::ready(Ok(()))
    }
}
