//! The easy front: one policy over one store.

use crate::amount::Cost;
use crate::check::Check;
use crate::clock::Clock;
use crate::decision::Decision;
use crate::key::{Key, KeyError};
use crate::memory::MemoryStore;
use crate::policy::Policy;

/// A policy over a store, ready to be asked.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Limiter, MemoryStore, Policy};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "2/minute")?])?;
/// let limiter = Limiter::new(MemoryStore::new(), policy);
/// assert!(limiter.check("alice")?.is_allowed());
/// assert!(limiter.check("alice")?.is_allowed());
/// assert!(!limiter.check("alice")?.is_allowed());
/// assert!(limiter.check("bob")?.is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Limiter<S> {
    store: S,
    policy: Policy,
}

impl<S> Limiter<S> {
    /// A limiter of this policy over this store.
    #[must_use]
    pub fn new(store: S, policy: Policy) -> Limiter<S> {
        Limiter { store, policy }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.store
    }
}

impl<C: Clock> Limiter<MemoryStore<C>> {
    /// Takes one unit for `key` if every limit allows it.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    pub fn check(&self, key: impl AsRef<[u8]>) -> Result<Decision, KeyError> {
        self.check_cost(key, Cost::ONE)
    }

    /// Takes `cost` for `key` if every limit allows it; a cost of zero only looks.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    pub fn check_cost(&self, key: impl AsRef<[u8]>, cost: Cost) -> Result<Decision, KeyError> {
        let key = Key::new(key.as_ref())?;
        Ok(self.store.take_one(&Check::take(key, &self.policy, cost)))
    }
}
