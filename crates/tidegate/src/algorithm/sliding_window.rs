//! The sliding window: two counters that estimate the last window.
//!
//! With a previous window's count p, elapsed time e of the current one and its count c, used is
//! `floor(p * (W - e) / W)` in whole units, plus c.

use super::{Answer, Settled, Step, Words, count_from, first, put, settle_first};
use crate::amount::{Amount, Divisor, MICROS_PER_UNIT};
use crate::mode::Fate;
use crate::time::{Span, Timestamp};

/// A sliding window's numbers.
#[derive(Clone, Debug)]
pub(crate) struct SlidingWindow {
    max: u64,
    window: Span,
    nanos: Divisor,
}

/// What a key used in the window that began at `start` and in the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SlidingState {
    start: Timestamp,
    previous: u64,
    current: u64,
}

/// A state in the window that stands at the instant from which it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SettledState {
    state: SlidingState,
    /// The part of the previous window that still counts, in whole units.
    weighed: u64,
}

impl SettledState {
    /// How much the sliding window holds.
    fn used(&self) -> u64 {
        self.weighed + self.state.current
    }
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
        SlidingWindow { max: max.as_micros(), window, nanos: Divisor::new(window.as_nanos()) }
    }

    /// The window's length.
    pub(super) fn window(&self) -> Span {
        self.window
    }

    /// The part of the previous window that still counts at `at`, in whole units.
    #[inline]
    fn weighed(&self, state: &SlidingState, at: Timestamp) -> u64 {
        if state.previous == 0 {
            return 0;
        }
        let covered = self.window - at.since(state.start);
        let scaled = u128::from(state.previous) * u128::from(covered.as_nanos());
        // No more than the whole window is covered, so the quotient is no larger than the count.
        whole_units(self.nanos.floor_wide(scaled))
    }

    /// The time after a window's start at which `count` of the window before it weighs less than
    /// `bound`, for a bound of whole units no larger than the count.
    fn fades_below(&self, count: u64, bound: u64) -> Span {
        // count * x / W < bound for the covered time x  <=>  x <= ceil(bound * W / count) - 1.
        let (window, count) = (self.window.as_nanos(), count.max(1));
        // Most products fit one word, which a processor divides several times faster than two.
        let covered = match bound.checked_mul(window) {
            Some(scaled) => scaled.div_ceil(count) - 1,
            None => {
                narrow((u128::from(bound) * u128::from(window)).div_ceil(u128::from(count)) - 1)
            }
        };
        self.window - Span::from_nanos(covered)
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

impl Settled for SlidingWindow {
    type Copy = SettledState;

    /// When the clock stepped back, the current window begins anew where the clock is. A state that
    /// counts for nothing equals none, whose window is the one that the clock is in.
    #[inline]
    fn settled(&self, state: &SlidingState, now: Timestamp) -> SettledState {
        let at = count_from(now, state.start, self.window);
        let ended = state.start + self.window;
        let state = if at < ended {
            SlidingState { start: state.start.min(at), ..*state }
        } else if at < ended + self.window {
            SlidingState { start: ended, previous: state.current, current: 0 }
        } else {
            SlidingState::default()
        };
        let weighed = self.weighed(&state, at);
        if state.current > 0 || weighed > 0 {
            return SettledState { state, weighed };
        }
        let start = now.floor_to(self.window);
        SettledState { state: SlidingState { start, ..SlidingState::default() }, weighed }
    }

    #[inline]
    fn state(&self, settled: &SettledState) -> SlidingState {
        settled.state
    }

    #[inline]
    fn wait_settled(&self, settled: &SettledState, now: Timestamp, cost: u64) -> Option<Span> {
        let room = self.max.checked_sub(cost)?;
        if settled.used() <= room {
            return Some(Span::ZERO);
        }
        let state = &settled.state;
        if let Some(left) = room.checked_sub(state.current) {
            let bound = whole_units(left) + MICROS_PER_UNIT;
            let fades = self.fades_below(state.previous, bound);
            if fades < self.window {
                return Some((state.start + fades).since(now));
            }
        }
        Some(self.fits_next_window(state.start, state.current, room).since(now))
    }

    #[inline]
    fn remaining_settled(&self, settled: &SettledState) -> u64 {
        self.max.saturating_sub(settled.used())
    }

    #[inline]
    fn reset_settled(&self, settled: &SettledState, now: Timestamp) -> Span {
        let state = &settled.state;
        if state.current > 0 {
            return self.fits_next_window(state.start, state.current, 0).since(now);
        }
        if settled.weighed == 0 {
            return Span::ZERO;
        }
        (state.start + self.fades_below(state.previous, MICROS_PER_UNIT)).since(now)
    }

    #[inline]
    fn charge_settled(&self, settled: &SettledState, cost: u64) -> SettledState {
        let room = (2 * self.max).saturating_sub(settled.used());
        let current = settled.state.current + cost.min(room);
        SettledState { state: SlidingState { current, ..settled.state }, ..*settled }
    }
}

impl Step for SlidingWindow {
    type State = SlidingState;

    settle_first!();

    /// The previous window's count fades, so it must not take the room of what is charged now.
    fn charge_shared(&self, state: &mut SlidingState, now: Timestamp, cost: u64) {
        let settled = self.settled(state, now).state;
        *state = SlidingState {
            current: settled.current.saturating_add(cost).min(2 * self.max),
            ..settled
        };
    }

    fn refund(&self, state: &mut SlidingState, now: Timestamp, cost: u64, taken_at: Timestamp) {
        let mut settled = self.settled(state, now).state;
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
        let settled = self.settled(state, now).state;
        if settled.start < state.start && (settled.previous > 0 || settled.current > 0) {
            *state = settled;
        }
    }
}
