//! Sleeping on a clock that a test moves.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

use super::{Errand, Timer};
use crate::clock::{Clock, ManualClock};
use crate::time::{Span, Timestamp};

/// A timer whose sleepers wake when a test moves the clock: hours of waiting pass in no time.
///
/// Give the store the same clock. Clones are one timer.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tidegate::{
///     Clock, Cost, Key, Limit, Limiter, ManualClock, ManualTimer, MemoryConfig, MemoryStore, Policy,
///     Timestamp,
/// };
///
/// let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000)));
/// let timer = ManualTimer::new(clock.clone());
/// let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
/// let policy = Policy::new("mail", [Limit::quota("slow", "1/hour")?])?;
/// let pacer = Limiter::new(store, policy).pacer(timer.clone());
///
/// timer.block_on(async {
///     for _ in 0..3 {
///         pacer.until_ready(Key::new("alice")?, Cost::ONE).await?;
///     }
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// assert_eq!(clock.now(), Timestamp::from_secs(1_000_000 + 2 * 3_600));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ManualTimer {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<ManualClock>,
    /// Who sleeps until when; the number tells sleepers of one instant apart.
    sleepers: Mutex<BTreeMap<(Timestamp, u64), Waker>>,
    next: AtomicU64,
    errands: Mutex<Vec<Errand>>,
}

impl ManualTimer {
    /// A timer that goes by this clock.
    #[must_use]
    pub fn new(clock: Arc<ManualClock>) -> ManualTimer {
        let inner = Inner {
            clock,
            sleepers: Mutex::default(),
            next: AtomicU64::new(0),
            errands: Mutex::default(),
        };
        ManualTimer { inner: Arc::new(inner) }
    }

    /// When the next sleeper wakes, if anybody sleeps.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.inner.sleepers.lock().first_key_value().map(|((until, _), _)| *until)
    }

    /// Moves the clock to `now` and wakes those whose time has come.
    pub fn advance_to(&self, now: Timestamp) {
        self.inner.clock.set(now);
        let due = {
            let mut sleepers = self.inner.sleepers.lock();
            let later = sleepers.split_off(&(now + Span::from_nanos(1), 0));
            std::mem::replace(&mut *sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Polls the errands that were left, once each, and forgets those that are done.
    pub fn run_errands(&self) {
        // Taken out: an errand may leave another.
        let errands = std::mem::take(&mut *self.inner.errands.lock());
        let mut context = Context::from_waker(Waker::noop());
        let pending: Vec<Errand> = errands
            .into_iter()
            .filter_map(|mut errand| match errand.as_mut().poll(&mut context) {
                Poll::Ready(()) => None,
                Poll::Pending => Some(errand),
            })
            .collect();
        self.inner.errands.lock().extend(pending);
    }

    /// Runs a future to its end, moving the clock on to the next sleeper whenever nothing else is
    /// left to do.
    ///
    /// # Panics
    ///
    /// When the future waits for something that no time brings.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            while woken.0.swap(false, Ordering::SeqCst) {
                if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
                {
                    return output;
                }
                self.run_errands();
            }
            let next = self.next_wake().expect("the future waits for a sleeper of this timer");
            self.advance_to(next.max(self.now()));
        }
    }
}

impl Timer for ManualTimer {
    type Sleep = ManualSleep;

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn sleep(&self, span: Span) -> ManualSleep {
        let until = self.now() + span;
        // Relaxed: the number need only be another one.
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        ManualSleep { inner: Arc::clone(&self.inner), place: (until, number) }
    }

    fn finish(&self, errand: Errand) {
        self.inner.errands.lock().push(errand);
    }
}

impl fmt::Debug for ManualTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sleepers = self.inner.sleepers.lock().len();
        f.debug_struct("ManualTimer")
            .field("now", &self.now())
            .field("sleepers", &sleepers)
            .finish()
    }
}

/// Whether the future that a test runs was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A sleep on a [`ManualTimer`].
pub struct ManualSleep {
    inner: Arc<Inner>,
    place: (Timestamp, u64),
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.inner.clock.now() >= self.place.0 {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let before = self.inner.sleepers.lock().insert(self.place, waker);
        // Wakers end outside of the lock: the last of a task ends the task, and its sleeps with it.
        drop(before);
        Poll::Pending
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        let waker = self.inner.sleepers.lock().remove(&self.place);
        drop(waker);
    }
}

impl fmt::Debug for ManualSleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualSleep").field("until", &self.place.0).finish_non_exhaustive()
    }
}
