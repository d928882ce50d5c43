//! The sliding window: two counters that estimate the last window.
//!
//! With a previous window's count p, elapsed time e of the current one and its count c, used is
//! `floor(p * (W - e) / W)` in whole units, plus c.

use super::{Step, Words, count_from, first, put};
use crate::amount::{Amount, MICROS_PER_UNIT};
use crate::time::{Span, Timestamp};

/// A sliding window's numbers.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    max: u64,
    window: Span,
}

/// What a key used in the window that began at `start` and in the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SlidingState {
    start: Timestamp,
    previous: u64,
    current: u64,
}

impl Words for SlidingState {
    const COUNT: usize = 3;

    #[inline]
    fn read(words: &[u64]) -> SlidingState {
        let [start, previous, current] = first(words);
        SlidingState { start: Timestamp::from_nanos(start), previous, current }
    }

    #[inline]
    fn write(self, words: &mut [u64]) {
        put(words, [self.start.as_nanos(), self.previous, self.current]);
    }
}

impl SlidingWindow {
    pub(crate) fn new(max: Amount, window: Span) -> SlidingWindow {
        SlidingWindow { max: max.as_micros(), window }
    }

    /// The window's length.
    pub(super) fn window(&self) -> Span {
        self.window
    }

    /// The state in the window that stands at the instant from which it counts, and that instant.
    ///
    /// When the clock stepped back, the current window begins anew where the clock is. A state that
    /// counts for nothing equals none, whose window is the one that the clock is in.
    fn settled(&self, state: &SlidingState, now: Timestamp) -> (SlidingState, Timestamp) {
        let at = count_from(now, state.start, self.window);
        let ended = state.start + self.window;
        let settled = if at < ended {
            SlidingState { start: state.start.min(at), ..*state }
        } else if at < ended + self.window {
            SlidingState { start: ended, previous: state.current, current: 0 }
        } else {
            SlidingState::default()
        };
        if settled.current > 0 || (settled.previous > 0 && self.weighed(&settled, at) > 0) {
            return (settled, at);
        }
        let start = now.floor_to(self.window);
        (SlidingState { start, ..SlidingState::default() }, now)
    }

    /// How much the sliding window holds at `at`.
    fn used(&self, settled: &SlidingState, at: Timestamp) -> u64 {
        self.weighed(settled, at) + settled.current
    }

    /// The part of the previous window that still counts at `at`, in whole units.
    fn weighed(&self, settled: &SlidingState, at: Timestamp) -> u64 {
        let covered = self.window - at.since(settled.start);
        let exact = u128::from(settled.previous) * u128::from(covered.as_nanos())
            / u128::from(self.window.as_nanos());
        whole_units(narrow(exact))
    }

    /// The time after a window's start at which `count` of the window before it weighs less than
    /// `bound`, for a bound of whole units no larger than the count.
    fn fades_below(&self, count: u64, bound: u64) -> Span {
        // count * x / W < bound for the covered time x  <=>  x <= ceil(bound * W / count) - 1.
        let scaled = u128::from(bound) * u128::from(self.window.as_nanos());
        let covered = scaled.div_ceil(u128::from(count.max(1))) - 1;
        self.window - Span::from_nanos(narrow(covered))
    }

    /// The instant from which the `count` of the window begun at `start` weighs no more than `room`,
    /// which is in the window after it.
    fn fits_next_window(&self, start: Timestamp, count: u64, room: u64) -> Timestamp {
        let next = start + self.window;
        let bound = whole_units(room) + MICROS_PER_UNIT;
        if count < bound { next } else { next + self.fades_below(count, bound) }
    }
}

/// The largest whole number of units not above `amount`.
const fn whole_units(amount: u64) -> u64 {
    amount - amount % MICROS_PER_UNIT
}

/// A quotient that is no larger than a 64-bit operand it came from.
fn narrow(quotient: u128) -> u64 {
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

impl Step for SlidingWindow {
    type State = SlidingState;

    fn wait(&self, state: &SlidingState, now: Timestamp, cost: u64) -> Option<Span> {
        let room = self.max.checked_sub(cost)?;
        let (settled, at) = self.settled(state, now);
        if self.used(&settled, at) <= room {
            return Some(Span::ZERO);
        }
        if let Some(left) = room.checked_sub(settled.current) {
            let bound = whole_units(left) + MICROS_PER_UNIT;
            let fades = self.fades_below(settled.previous, bound);
            if fades < self.window {
                return Some((settled.start + fades).since(now));
            }
        }
        Some(self.fits_next_window(settled.start, settled.current, room).since(now))
    }

    fn remaining(&self, state: &SlidingState, now: Timestamp) -> u64 {
        let (settled, at) = self.settled(state, now);
        self.max.saturating_sub(self.used(&settled, at))
    }

    fn reset_after(&self, state: &SlidingState, now: Timestamp) -> Span {
        let (settled, at) = self.settled(state, now);
        if settled.current > 0 {
            return self.fits_next_window(settled.start, settled.current, 0).since(now);
        }
        if self.weighed(&settled, at) == 0 {
            return Span::ZERO;
        }
        (settled.start + self.fades_below(settled.previous, MICROS_PER_UNIT)).since(now)
    }

    fn charge(&self, state: &mut SlidingState, now: Timestamp, cost: u64) {
        let (settled, at) = self.settled(state, now);
        let room = (2 * self.max).saturating_sub(self.used(&settled, at));
        *state = SlidingState { current: settled.current + cost.min(room), ..settled };
    }

    /// The previous window's count fades, so it must not take the room of what is charged now.
    fn charge_shared(&self, state: &mut SlidingState, now: Timestamp, cost: u64) {
        let (settled, _) = self.settled(state, now);
        *state = SlidingState {
            current: settled.current.saturating_add(cost).min(2 * self.max),
            ..settled
        };
    }

    fn refund(&self, state: &mut SlidingState, now: Timestamp, cost: u64, taken_at: Timestamp) {
        let (mut settled, _) = self.settled(state, now);
        if taken_at >= settled.start {
            settled.current = settled.current.saturating_sub(cost);
        } else if taken_at >= settled.start - self.window {
            settled.previous = settled.previous.saturating_sub(cost);
        } else {
            return;
        }
        *state = settled;
    }

    fn restamp(&self, state: &mut SlidingState, now: Timestamp) {
        let (settled, _) = self.settled(state, now);
        if settled.start < state.start && (settled.previous > 0 || settled.current > 0) {
            *state = settled;
        }
    }
}
