//! Counts that each thread keeps for itself, and that are summed when somebody looks.
//!
//! Two threads that count into one number pass its cache line to and fro with every request. Here a
//! thread has a slot of its own in every number, and adds to it without a locked instruction.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// Several numbers that only grow: one cache line, or several, for each slot.
#[derive(Debug)]
pub(super) struct Sharded<const N: usize>(Box<[Line<N>]>);

#[derive(Debug)]
#[repr(align(64))]
struct Line<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Sharded<N> {
    fn default() -> Sharded<N> {
        let line = || Line(std::array::from_fn(|_| AtomicU64::new(0)));
        Sharded((0..=owned_slots()).map(|_| line()).collect())
    }
}

impl<const N: usize> Sharded<N> {
    /// Adds to the numbers at these places.
    #[inline]
    pub(super) fn add<const M: usize>(&self, additions: [(usize, u64); M]) {
        let slot = MINE.with(Slot::number);
        let Some((Line(numbers), is_mine)) = self.line(slot) else {
            return;
        };
        for (place, count) in additions {
            let Some(number) = numbers.get(place) else {
                continue;
            };
            // Relaxed: a count stands alone; a scrape may see one of two sums before the other.
            if is_mine {
                // Nobody else writes here.
                let sum = number.load(Ordering::Relaxed).wrapping_add(count);
                number.store(sum, Ordering::Relaxed);
            } else {
                number.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// The line of a slot, and whether its thread alone writes there; the last line is for all who
    /// have no slot.
    #[inline]
    fn line(&self, slot: Option<usize>) -> Option<(&Line<N>, bool)> {
        let (shared, owned) = self.0.split_last()?;
        Some(slot.and_then(|slot| owned.get(slot)).map_or((shared, false), |line| (line, true)))
    }

    /// The number at a place, over all threads.
    pub(super) fn sum(&self, place: usize) -> u64 {
        let numbers = self.0.iter().filter_map(|line| line.0.get(place));
        numbers.fold(0, |sum, number| sum.wrapping_add(number.load(Ordering::Relaxed)))
    }
}

/// How many threads have slots of their own: as many as decide at the same time.
fn owned_slots() -> usize {
    static SLOTS: OnceLock<usize> = OnceLock::new();
    *SLOTS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// The slots that no thread has.
fn free_slots() -> &'static Mutex<Vec<usize>> {
    static FREE: OnceLock<Mutex<Vec<usize>>> = OnceLock::new();
    FREE.get_or_init(|| Mutex::new((0..owned_slots()).rev().collect()))
}

thread_local! {
    static MINE: Slot = const { Slot(Cell::new(Claim::Unasked)) };
}

/// A thread's slot. It goes back when the thread ends, and to the next that counts: the lock around
/// the free ones makes what was written to it seen there.
struct Slot(Cell<Claim>);

#[derive(Clone, Copy)]
enum Claim {
    Unasked,
    Owned(usize),
    /// Others had them all.
    Shared,
}

impl Slot {
    #[inline]
    fn number(&self) -> Option<usize> {
        match self.0.get() {
            Claim::Owned(slot) => Some(slot),
            Claim::Shared => None,
            Claim::Unasked => self.claim(),
        }
    }

    #[cold]
    fn claim(&self) -> Option<usize> {
        let slot = free_slots().lock().unwrap_or_else(PoisonError::into_inner).pop();
        self.0.set(slot.map_or(Claim::Shared, Claim::Owned));
        slot
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Claim::Owned(slot) = self.0.get() {
            free_slots().lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With more threads than slots, and threads that follow one another in a slot.
    #[test]
    fn no_count_is_lost_between_threads() {
        let numbers: Sharded<2> = Sharded::default();
        for _ in 0..3 {
            thread::scope(|scope| {
                for _ in 0..owned_slots() + 3 {
                    scope.spawn(|| (0..10_000).for_each(|_| numbers.add([(0, 1), (1, 2)])));
                }
            });
        }
        let counted = 3 * 10_000 * (owned_slots() as u64 + 3);
        assert_eq!((numbers.sum(0), numbers.sum(1)), (counted, 2 * counted));
    }
}
