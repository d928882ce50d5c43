//! The only readers of a clock.

mod counter;
mod system;

use std::sync::atomic::{AtomicU64, Ordering};

pub use system::SystemClock;

use crate::time::{Span, Timestamp};

/// Where a store takes the time from, in Unix nanoseconds.
///
/// # Examples
///
/// ```
/// use tidegate::{Clock, MemoryConfig, MemoryStore, Span, SystemClock, Timestamp};
///
/// /// A clock that runs an hour ahead.
/// struct Ahead(SystemClock);
///
/// impl Clock for Ahead {
///     fn now(&self) -> Timestamp {
///         self.0.now() + Span::from_secs(3_600)
///     }
/// }
///
/// let store = MemoryStore::with_clock(MemoryConfig::default(), Ahead(SystemClock::new()));
/// assert!(store.is_empty());
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

impl<C: Clock> Clock for std::sync::Arc<C> {
    #[inline]
    fn now(&self) -> Timestamp {
        C::now(self)
    }
}

/// A clock that moves only when told: for tests, and for playing logs back.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tidegate::{Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Span, Timestamp};
///
/// let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
/// let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
/// let limiter = Limiter::new(store, Policy::new("api", [Limit::quota("one", "1/s")?])?);
/// assert!(limiter.check("alice")?.is_allowed());
/// assert!(!limiter.check("alice")?.is_allowed());
/// clock.advance(Span::from_secs(1));
/// assert!(limiter.check("alice")?.is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub const fn new(now: Timestamp) -> ManualClock {
        ManualClock(AtomicU64::new(now.as_nanos()))
    }

    /// Moves the clock to `now`, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        // Relaxed: a test that moves time between threads has its own order of events.
        self.0.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Moves the clock on by `span`.
    pub fn advance(&self, span: Span) {
        self.set(self.now() + span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
