//! The only reader of a clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::time::{Span, Timestamp};

/// Where a store takes the time from.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

impl<C: Clock> Clock for std::sync::Arc<C> {
    fn now(&self) -> Timestamp {
        C::now(self)
    }
}

/// How often the system clock looks at wall time.
const ANCHOR_EVERY: Span = Span::from_secs(1);

/// The machine's time: wall time at the start plus monotonic time since, set anew to wall time
/// about once a second.
///
/// Between two looks at wall time it never goes back.
///
/// # Examples
///
/// ```
/// use tidegate::{Clock, SystemClock, Timestamp};
///
/// let clock = SystemClock::new();
/// assert!(clock.now() > Timestamp::from_secs(1_700_000_000));
/// ```
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    /// Unix nanoseconds at `started`, by the last look at wall time.
    base: AtomicU64,
    /// Nanoseconds after `started` at which wall time is looked at next.
    next_anchor: AtomicU64,
}

impl SystemClock {
    /// A clock that starts at the machine's wall time.
    #[must_use]
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one reader of a clock"
    )]
    pub fn new() -> SystemClock {
        SystemClock {
            started: Instant::now(),
            base: AtomicU64::new(wall_nanos()),
            next_anchor: AtomicU64::new(ANCHOR_EVERY.as_nanos()),
        }
    }

    /// Sets the base to wall time; one caller a second does it, the others go on.
    fn anchor(&self, elapsed: u64, due: u64) {
        let next = elapsed.saturating_add(ANCHOR_EVERY.as_nanos());
        // Relaxed throughout: each value stands alone, and a reader with the old base is right to
        // within what the clocks drifted in one second.
        let claimed =
            self.next_anchor
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_ok() {
            self.base
                .store(wall_nanos().saturating_sub(elapsed), Ordering::Relaxed);
        }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = Span::from(self.started.elapsed()).as_nanos();
        let due = self.next_anchor.load(Ordering::Relaxed);
        if elapsed >= due {
            self.anchor(elapsed, due);
        }
        Timestamp::from_nanos(self.base.load(Ordering::Relaxed).saturating_add(elapsed))
    }
}

/// Wall time in Unix nanoseconds; 0 for a clock set before 1970.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the one reader of a clock"
)]
fn wall_nanos() -> u64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Span::from(since_epoch).as_nanos()
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
