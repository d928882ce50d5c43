//! Waiting until a limit allows, in place of being denied.

mod error;
mod flight;
mod lines;
mod outlook;
mod wait;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

pub use error::PaceError;

use crate::amount::Cost;
use crate::decision::Decision;
use crate::key::Key;
use crate::observer::Watch;
use crate::policy::Policy;
use crate::store::Store;
use crate::time::Span;
use crate::timer::Timer;
use lines::Lines;
use wait::Wait;

/// A policy over a store whose callers wait for their turn: for keeping to the limits of others.
///
/// Made by [`Limiter::pacer`](crate::Limiter::pacer). Clones are one pacer.
///
/// Who waits for a key is served first come, first served, whatever the costs, and takes its cost
/// when it passes. Nothing is polled in between: the first of a line sleeps exactly as long as the store
/// says, then asks again; those behind it sleep until they are first. A future that is dropped takes
/// nothing and leaves its place to the next. Several processes over one store each have lines of
/// their own; the store alone decides between them.
///
/// The limiter's observer hears of every question to the store: each denial is one who has to wait.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tidegate::{
///     Cost, Key, Limit, Limiter, ManualClock, ManualTimer, MemoryConfig, MemoryStore, PaceError,
///     Policy, Span, Timer, Timestamp,
/// };
///
/// let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
/// let timer = ManualTimer::new(clock.clone());
/// let store = MemoryStore::with_clock(MemoryConfig::default(), clock);
/// let policy = Policy::new("partner", [Limit::quota("calls", "2 per second")?])?;
/// let pacer = Limiter::new(store, policy).pacer(timer.clone());
///
/// let start = timer.now();
/// timer.block_on(async {
///     let key = Key::new("partner.example")?;
///     for _ in 0..4 {
///         pacer.until_ready(key, Cost::ONE).await?;
///     }
///     assert_eq!(timer.now().since(start), Span::from_secs(1));
///
///     // Whoever has less patience than it takes is told at once, and takes nothing.
///     let hasty = pacer.until_ready_within(key, Cost::ONE, Span::from_millis(100)).await;
///     assert!(matches!(hasty, Err(PaceError::TooLong { .. })));
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pacer<S, T> {
    desk: Arc<Desk<S, T>>,
    manners: Manners,
}

/// What all clones share.
struct Desk<S, T> {
    store: S,
    policy: Policy,
    watch: Watch,
    timer: T,
    /// Held only to look at the lines, never while waiting.
    lines: Mutex<Lines>,
    /// The next ticket.
    next: AtomicU64,
}

/// How one clone behaves.
#[derive(Clone, Copy, Debug)]
struct Manners {
    jitter: Span,
    max_waiting: usize,
}

impl<S: Store + 'static, T: Timer> Pacer<S, T> {
    /// How many may wait at once, unless [`with_max_waiting`](Pacer::with_max_waiting) says another
    /// number.
    pub const MAX_WAITING: usize = 65_536;

    pub(crate) fn new(store: S, policy: Policy, watch: Watch, timer: T) -> Pacer<S, T> {
        let lines = Mutex::default();
        let desk = Desk { store, policy, watch, timer, lines, next: AtomicU64::new(0) };
        let manners = Manners { jitter: Span::ZERO, max_waiting: Self::MAX_WAITING };
        Pacer { desk: Arc::new(desk), manners }
    }

    /// Sleeps a random time of up to `jitter` longer whenever it sleeps: for many processes that would
    /// otherwise come back at the same instant.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Span) -> Pacer<S, T> {
        self.manners.jitter = jitter;
        self
    }

    /// Has at most this many wait, over all keys; who comes then gets [`PaceError::Crowded`].
    #[must_use]
    pub fn with_max_waiting(mut self, max_waiting: usize) -> Pacer<S, T> {
        self.manners.max_waiting = max_waiting;
        self
    }

    /// Waits until `cost` passes for `key`, and takes it. The wait begins when the future is first
    /// polled; it borrows nothing.
    ///
    /// # Errors
    ///
    /// The future gives a [`PaceError`]: at once when the cost can never pass or too many wait; or
    /// when the store failed.
    pub fn until_ready(
        &self,
        key: Key<'_>,
        cost: Cost,
    ) -> impl Future<Output = Result<Decision, PaceError>> + Send + use<S, T> {
        Wait::new(self, key, cost, None).run()
    }

    /// Waits as [`until_ready`](Pacer::until_ready) does, for at most `patience`.
    ///
    /// # Errors
    ///
    /// As there; and [`PaceError::TooLong`] as soon as it is known that the cost does not pass in
    /// time, which as a rule is at once. Then nothing was taken.
    pub fn until_ready_within(
        &self,
        key: Key<'_>,
        cost: Cost,
        patience: Span,
    ) -> impl Future<Output = Result<Decision, PaceError>> + Send + use<S, T> {
        Wait::new(self, key, cost, Some(patience)).run()
    }

    /// Lets nobody pass for `key` until `span` from now: for one who was told by the other side to
    /// stay away. Of two pauses the one that ends later counts.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tidegate::{
    /// #     Cost, Key, Limit, Limiter, ManualClock, ManualTimer, MemoryConfig, MemoryStore, Policy, Span,
    /// #     Timer, Timestamp,
    /// # };
    /// # let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
    /// # let timer = ManualTimer::new(clock.clone());
    /// # let store = MemoryStore::with_clock(MemoryConfig::default(), clock);
    /// # let policy = Policy::new("partner", [Limit::quota("calls", "2 per second")?])?;
    /// # let pacer = Limiter::new(store, policy).pacer(timer.clone());
    /// let (key, start) = (Key::new("partner.example")?, timer.now());
    /// pacer.pause(key, Span::from_secs(30));
    /// timer.block_on(pacer.until_ready(key, Cost::ONE))?;
    /// assert_eq!(timer.now().since(start), Span::from_secs(30));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self, key: Key<'_>, span: Span) {
        let now = self.desk.timer.now();
        let mut lines = self.desk.lines.lock();
        lines.pause(key.as_bytes(), now + span, now, self.manners.max_waiting);
    }

    /// How many wait now, over all keys.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.desk.lines.lock().waiting()
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.desk.policy
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.desk.store
    }

    /// The timer.
    #[must_use]
    pub fn timer(&self) -> &T {
        &self.desk.timer
    }
}

impl<S, T> Clone for Pacer<S, T> {
    fn clone(&self) -> Pacer<S, T> {
        Pacer { desk: Arc::clone(&self.desk), manners: self.manners }
    }
}

impl<S, T> fmt::Debug for Pacer<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pacer")
            .field("policy", self.desk.policy.name())
            .field("manners", &self.manners)
            .finish_non_exhaustive()
    }
}
