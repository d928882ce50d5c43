//! A lock of one byte whose release is a plain store.
//!
//! The locks of well-kept libraries release by a read-modify-write, to learn whether somebody sleeps
//! on them. That instruction takes longer than deciding does: with it a check of a known key costs
//! two thirds more. Here nobody sleeps on the lock itself. It is held for some microseconds at most,
//! so one who finds it held looks again a few times, then lets others run, then sleeps a little.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

#[cfg(all(test, loom))]
use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, Ordering},
    thread::yield_now,
};
#[cfg(not(all(test, loom)))]
use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, Ordering},
    thread::yield_now,
};

/// How long one who waits pauses before it looks the first time, and at most, in spins. A look takes
/// the lock's line away from its holder, who has work of a few dozen nanoseconds to do: looks far
/// apart let the holder come and go several times between them, with the line at hand.
const PAUSE_FIRST: u32 = 16;
const PAUSE_LAST: u32 = 64;
/// How many looks one takes before it lets others run after each.
const LOOKS: u32 = 8;
/// How often it lets others run before it sleeps: the holder may have lost its processor.
const YIELDS: u32 = 4;
const YIELDS_END: u32 = LOOKS + YIELDS;
/// How long it sleeps then, each time.
const SLEEP: Duration = Duration::from_micros(50);

/// Whether the lock is held, and the order of memory that goes with it.
#[derive(Debug)]
struct Held(AtomicBool);

impl Held {
    fn new() -> Held {
        Held(AtomicBool::new(false))
    }

    /// Takes the lock if nobody holds it.
    #[inline]
    fn try_take(&self) -> bool {
        // Acquire pairs with the release in `let_go`: what the last holder wrote is seen.
        self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock when nobody holds it any more.
    #[cold]
    fn take_later(&self) {
        let (mut pause, mut looks) = (PAUSE_FIRST, 0);
        loop {
            (0..pause).for_each(|_| spin_loop());
            // Looked at first, since trying takes the line away from the holder.
            if !self.0.load(Ordering::Relaxed) && self.try_take() {
                return;
            }
            pause = PAUSE_LAST.min(2 * pause);
            match looks {
                0..LOOKS => {}
                LOOKS..YIELDS_END => yield_now(),
                _ => sleep(),
            }
            looks = YIELDS_END.min(looks + 1);
        }
    }

    /// Lets the lock go. Only its holder may.
    #[inline]
    fn let_go(&self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(not(all(test, loom)))]
fn sleep() {
    std::thread::sleep(SLEEP);
}

/// A model of threads knows no time.
#[cfg(all(test, loom))]
fn sleep() {
    let _ = SLEEP;
    yield_now();
}

/// A value that one thread at a time may use.
#[derive(Debug)]
pub(super) struct Mutex<T> {
    held: Held,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and there is at most one guard at a time: each is
// made by a successful `try_take`, which fails while another has not let go. So threads that share
// the mutex hand the value to one another, as sending it would.
#[allow(unsafe_code, reason = "a lock that is released by a plain store; see the module")]
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Mutex<T> {
        Mutex { held: Held::new(), value: UnsafeCell::new(value) }
    }

    /// Waits until nobody else uses the value.
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        if !self.held.try_take() {
            self.held.take_later();
        }
        MutexGuard(self, PhantomData)
    }

    /// The value, if nobody uses it now.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.held.try_take().then(|| MutexGuard(self, PhantomData))
    }
}

/// The right to use the value, given up when dropped: also when a thread panics, and then the value
/// is as it was left, which for a table's shard is a state that each of its own steps can begin from.
///
/// It lends the value out as a `&mut T` would, and so is shared between threads only where that is.
#[derive(Debug)]
pub(super) struct MutexGuard<'a, T>(&'a Mutex<T>, PhantomData<&'a mut T>);

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    #[allow(unsafe_code, reason = "see `Mutex`")]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, and lends the value out for no longer than itself.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    #[allow(unsafe_code, reason = "see `Mutex`")]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and is itself borrowed for as long as the value is.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.held.let_go();
    }
}

/// Every interleaving of a few threads, by `RUSTFLAGS="--cfg loom"`.
#[cfg(all(test, loom))]
mod model {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    use super::Held;

    #[test]
    fn no_two_threads_hold_it_and_each_sees_what_the_last_wrote() {
        loom::model(|| {
            let shared = Arc::new((Held::new(), UnsafeCell::new(0)));
            let add = |(held, count): &(Held, UnsafeCell<i32>)| {
                if !held.try_take() {
                    held.take_later();
                }
                // The cell of the model fails the test when two threads use it without an order.
                #[allow(unsafe_code, reason = "the model checks it")]
                count.with_mut(|count| unsafe { *count += 1 });
                held.let_go();
            };
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    loom::thread::spawn(move || add(&shared))
                })
                .collect();
            for thread in threads {
                thread.join().expect("a thread of the model");
            }
            assert!(shared.0.try_take());
            #[allow(unsafe_code, reason = "the model checks it")]
            shared.1.with(|count| assert_eq!(unsafe { *count }, 2));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn many_threads_add_up_and_a_panic_lets_go() {
        let count = Mutex::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..20_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 320_000);
        let held = count.lock();
        assert!(count.try_lock().is_none());
        drop(held);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = count.lock();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
        assert!(count.try_lock().is_some());
    }
}
