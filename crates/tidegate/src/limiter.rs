//! The easy front: one policy over one store.

use std::future::Future;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::amount::Cost;
use crate::check::Check;
use crate::clock::Clock;
use crate::decision::{Decision, Verdict};
use crate::key::{Key, KeyError};
use crate::memory::MemoryStore;
use crate::observer::{Observer, Stopwatch, Watch};
use crate::pacer::Pacer;
use crate::policy::Policy;
use crate::store::{Store, StoreError};
use crate::time::Timestamp;
use crate::timer::Timer;

/// A policy over a store, ready to be asked.
///
/// Over a [`MemoryStore`] every answer is at once and cannot fail; over any other [`Store`] use
/// [`Limiter::check_async`].
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
    watch: Watch,
}

impl<S> Limiter<S> {
    /// A limiter of this policy over this store.
    #[must_use]
    pub fn new(store: S, policy: Policy) -> Limiter<S> {
        Limiter { store, policy, watch: Watch::default() }
    }

    /// The same, with somebody who hears of every decision.
    ///
    /// # Examples
    ///
    /// See [`Observer`].
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer) -> Limiter<S> {
        self.watch = Watch::by(observer);
        self
    }

    /// Who hears of every decision, if there is somebody.
    #[must_use]
    pub fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.watch.observer()
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

impl<S: Store + 'static> Limiter<S> {
    /// The same, for callers who wait for their turn in place of being denied. How they sleep is
    /// the timer's matter.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tidegate::{
    ///     Cost, Key, Limit, Limiter, ManualClock, ManualTimer, MemoryConfig, MemoryStore, Policy,
    ///     Timestamp,
    /// };
    ///
    /// let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
    /// let timer = ManualTimer::new(clock.clone());
    /// let store = MemoryStore::with_clock(MemoryConfig::default(), clock);
    /// let policy = Policy::new("api", [Limit::quota("burst", "5 per second")?])?;
    /// let pacer = Limiter::new(store, policy).pacer(timer.clone());
    /// let key = Key::new("alice")?;
    /// for _ in 0..20 {
    ///     assert!(timer.block_on(pacer.until_ready(key, Cost::ONE))?.is_allowed());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn pacer<T: Timer>(self, timer: T) -> Pacer<S, T> {
        Pacer::new(self.store, self.policy, self.watch, timer)
    }
}

impl<S: Store> Limiter<S> {
    /// Takes `cost` for `key` if every limit allows it, on a store that answers later.
    ///
    /// # Errors
    ///
    /// The future gives a [`StoreError`] when the store could not answer. A
    /// denial is no error.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Cost, Key, Limiter, Store, StoreError};
    ///
    /// async fn pass<S: Store>(limiter: &Limiter<S>, user: Key<'_>) -> Result<bool, StoreError> {
    ///     Ok(limiter.check_async(user, Cost::ONE).await?.is_allowed())
    /// }
    /// ```
    pub fn check_async(
        &self,
        key: Key<'_>,
        cost: Cost,
    ) -> impl Future<Output = Result<Verdict, StoreError>> + Send + use<S> {
        let started = self.watch.start();
        let take = self.store.take(&[Check::take(key, &self.policy, cost)]);
        // Who is watched owns what is told of it; who is not, nothing.
        let told = started.map(|started| {
            let key: Box<[u8]> = key.as_bytes().into();
            (started, self.watch.clone(), self.policy.clone(), key)
        });
        async move {
            let answer = take.await;
            if let Some((started, watch, policy, key)) = told
                && let Ok(key) = Key::new(&*key)
            {
                let checks = [Check::take(key, &policy, cost)];
                watch.tell(started, &checks, answer.as_ref());
            }
            answer
        }
    }
}

impl<C: Clock> Limiter<MemoryStore<C>> {
    #[inline(always)]
    fn decide(&self, check: &Check<'_>) -> Decision {
        match self.watch.start() {
            None => self.store.take_one(check),
            Some(started) => self.decide_watched(started, check),
        }
    }

    #[cold]
    #[inline(never)]
    fn decide_watched(&self, started: Stopwatch, check: &Check<'_>) -> Decision {
        let verdict = self.store.take(std::slice::from_ref(check));
        self.watch.tell(started, std::slice::from_ref(check), Ok(&verdict));
        verdict.decisions()[0]
    }

    /// Takes one unit for `key` if every limit allows it.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes. A denial is no error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "5/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// assert_eq!(limiter.check("alice")?.remaining, Amount::from_units(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, key: impl AsRef<[u8]>) -> Result<Decision, KeyError> {
        self.check_cost(key, Cost::ONE)
    }

    /// Takes `cost` for `key` if every limit allows it; a cost of zero only looks.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "5/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// let decision = limiter.check_cost("alice", "2.5".parse()?)?;
    /// assert_eq!(decision.remaining, "2.5".parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_cost(&self, key: impl AsRef<[u8]>, cost: Cost) -> Result<Decision, KeyError> {
        let key = Key::new(key.as_ref())?;
        Ok(self.decide(&Check::take(key, &self.policy, cost)))
    }

    /// Takes one unit for each of the keys, in order and each on its own, as
    /// [`check`](Limiter::check) does: in a batch, which reads the clock once and has the memory of
    /// the keys ahead on its way while one is decided.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when a key is not 1 to 1024 bytes; then nothing is taken.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Decision, Limit, Limiter, MemoryStore, Policy};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "1/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// let decisions = limiter.check_many(&["alice", "bob", "alice"])?;
    /// let allowed: Vec<bool> = decisions.iter().map(Decision::is_allowed).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_many(&self, keys: &[impl AsRef<[u8]>]) -> Result<Vec<Decision>, KeyError> {
        let check = |key| Ok(Check::take(Key::new(key)?, &self.policy, Cost::ONE));
        let checks: Result<SmallVec<[Check<'_>; 16]>, KeyError> = keys.iter().map(check).collect();
        let (checks, started) = (checks?, self.watch.start());
        let verdict = self.store.take_each(&checks);
        if let Some(started) = started {
            self.watch.tell_each(started, &checks, &verdict);
        }
        Ok(verdict.into_decisions())
    }

    /// Says what `cost` would get for `key`, and takes nothing.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "5/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// assert!(limiter.peek("alice", Amount::from_units(5))?.is_allowed());
    /// assert_eq!(limiter.check("alice")?.remaining, Amount::from_units(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn peek(&self, key: impl AsRef<[u8]>, cost: Cost) -> Result<Decision, KeyError> {
        let key = Key::new(key.as_ref())?;
        Ok(self.store.take_one(&Check::peek(key, &self.policy, cost)))
    }

    /// Charges `cost` to `key` whatever is left, down to one full limit below zero: for costs known
    /// only afterwards.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
    ///
    /// let policy = Policy::new("bytes", [Limit::quota("sent", "100/minute")?])?;
    /// let limiter = Limiter::new(MemoryStore::new(), policy);
    /// limiter.debit("alice", Amount::from_units(150))?;
    /// assert!(!limiter.check("alice")?.is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn debit(&self, key: impl AsRef<[u8]>, cost: Cost) -> Result<Decision, KeyError> {
        let key = Key::new(key.as_ref())?;
        Ok(self.decide(&Check::debit(key, &self.policy, cost)))
    }

    /// Gives `key` back the `cost` it took at `taken_at`: never above full, and nothing when the
    /// window it was taken in is over. The time is that of the store's clock right after the
    /// taking, or [`Verdict::at`](crate::Verdict::at).
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "5/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// use tidegate::Clock;
    ///
    /// limiter.check("alice")?;
    /// let taken_at = limiter.store().clock().now();
    /// limiter.refund("alice", Amount::ONE, taken_at)?;
    /// assert_eq!(limiter.check("alice")?.remaining, Amount::from_units(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refund(
        &self,
        key: impl AsRef<[u8]>,
        cost: Cost,
        taken_at: Timestamp,
    ) -> Result<(), KeyError> {
        let key = Key::new(key.as_ref())?;
        self.store.refund(&[Check::take(key, &self.policy, cost)], taken_at);
        Ok(())
    }

    /// Forgets what `key` has used.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when the key is not 1 to 1024 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "5/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// limiter.check_cost("alice", Amount::from_units(5))?;
    /// limiter.reset("alice")?;
    /// assert!(limiter.check("alice")?.is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&self, key: impl AsRef<[u8]>) -> Result<(), KeyError> {
        let key = Key::new(key.as_ref())?;
        self.store.reset(&[Check::take(key, &self.policy, Cost::ZERO)]);
        Ok(())
    }
}
