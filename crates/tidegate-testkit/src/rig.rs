//! A store under test together with the clock that drives it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tidegate::{ManualClock, MemoryConfig, MemoryStore, Span, Store, Timestamp};

/// A store whose time the test sets.
///
/// # Examples
///
/// ```
/// use tidegate::{Check, Cost, Key, Limit, Policy, Store, Timestamp};
/// use tidegate_testkit::{MemoryRig, Rig};
///
/// let policy = Policy::new("api", [Limit::quota("one", "1/s")?])?;
/// let rig = MemoryRig::new();
/// rig.set_time(Timestamp::from_secs(1_000));
/// let check = Check::take(Key::new("alice")?, &policy, Cost::ONE);
/// let verdict = rig.block_on(Store::take(rig.store(), &[check]))?;
/// assert_eq!(verdict.at(), Timestamp::from_secs(1_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Rig {
    /// The store.
    type Store: Store;

    /// The store under test.
    fn store(&self) -> &Self::Store;

    /// Sets the store's clock, forwards or backwards.
    fn set_time(&self, now: Timestamp);

    /// The store's unit of time: 1 ns in memory, 1 us in Redis. Times are multiples of it.
    fn tick(&self) -> Span;

    /// Runs one of the store's futures to its end.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// Polls a future that is always ready, such as the memory store's.
///
/// # Panics
///
/// When the future is not ready at once.
pub fn block_on_ready<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future is not ready; drive it with a runtime"),
    }
}

/// The memory store with a clock that the test sets.
#[derive(Debug)]
pub struct MemoryRig {
    clock: Arc<ManualClock>,
    store: MemoryStore<Arc<ManualClock>>,
}

impl MemoryRig {
    /// An empty store with room for any number of keys.
    #[must_use]
    pub fn new() -> MemoryRig {
        MemoryRig::with(MemoryConfig::default())
    }

    /// An empty store of this size.
    #[must_use]
    pub fn with(config: MemoryConfig) -> MemoryRig {
        let clock = Arc::new(ManualClock::default());
        MemoryRig { store: MemoryStore::with_clock(config, clock.clone()), clock }
    }
}

impl Default for MemoryRig {
    fn default() -> MemoryRig {
        MemoryRig::new()
    }
}

impl Rig for MemoryRig {
    type Store = MemoryStore<Arc<ManualClock>>;

    fn store(&self) -> &Self::Store {
        &self.store
    }

    fn set_time(&self, now: Timestamp) {
        self.clock.set(now);
    }

    fn tick(&self) -> Span {
        Span::from_nanos(1)
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on_ready(future)
    }
}
