//! The memory store.
use crate::check::Check;
use crate::clock::{Clock, SystemClock};
use crate::decision::{Decision, Verdict};
use crate::store::{Store, StoreError};
use crate::time::Timestamp;
use std::future::Ready;

/// What the store does with a new key when it holds `max_keys` keys that are all in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Counts new keys in a fixed number of shared states: may deny early, never admits too much.
    #[default]
    Shared,
    /// Denies new keys.
    Deny,
    /// Allows new keys, uncounted.
    Allow,
}

/// How large a memory store may become.
#[derive(Clone, Debug)]
pub struct MemoryConfig {
    /// The most keys held at once; at least 1.
    pub max_keys: usize,
    /// What happens to new keys beyond it.
    pub overflow: Overflow,
    /// A hint of how many shards to use; none lets the store choose.
    pub shards: Option<usize>,
}

impl Default for MemoryConfig {
    fn default() -> MemoryConfig {
        MemoryConfig {
            max_keys: 10_000_000,
            overflow: Overflow::Shared,
            shards: None,
        }
    }
}

/// The store in memory.
#[derive(Debug)]
pub struct MemoryStore<C: Clock = SystemClock> {
    clock: C,
}

impl MemoryStore {
    /// A store with defaults.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore {
            clock: SystemClock::new(),
        }
    }
}
impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new()
    }
}
impl<C: Clock> MemoryStore<C> {
    /// A store that takes the time from `clock`.
    pub fn with_clock(_config: MemoryConfig, clock: C) -> MemoryStore<C> {
        MemoryStore { clock }
    }
    /// Decides one check.
    pub fn take_one(&self, _check: &Check<'_>) -> Decision {
        unreachable!()
    }
    /// Decides all checks together (see [`Store::take`]).
    pub fn take(&self, _checks: &[Check<'_>]) -> Verdict {
        unreachable!()
    }
    /// Decides each check on its own (see [`Store::take_each`]).
    pub fn take_each(&self, _checks: &[Check<'_>]) -> Verdict {
        unreachable!()
    }
    /// Gives back (see [`Store::refund`]).
    pub fn refund(&self, _checks: &[Check<'_>], _taken_at: Timestamp) {}
    /// Forgets (see [`Store::reset`]).
    pub fn reset(&self, _checks: &[Check<'_>]) {}
    /// How many keys are held.
    pub fn len(&self) -> usize {
        0
    }
    /// Whether no key is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How many decisions were made in the shared overflow states, or refused or waved through for want of room.
    pub fn overflowed(&self) -> u64 {
        0
    }
    /// Drops every key that is back to full now and gives its memory back.
    pub fn sweep(&self) {}
    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }
}
impl<C: Clock> Store for MemoryStore<C> {
    type Take = Ready<Result<Verdict, StoreError>>;
    type Done = Ready<Result<(), StoreError>>;
    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        std::future::ready(Ok(MemoryStore::take(self, checks)))
    }
    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        std::future::ready(Ok(MemoryStore::take_each(self, checks)))
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
