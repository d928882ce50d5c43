//! The fixed window: a count that starts again with each window.

use super::{Answer, Settled, Step, Words, count_from, first, put, settle_first};
use crate::amount::Amount;
use crate::limit::Align;
use crate::mode::Fate;
use crate::time::{Span, Timestamp};

/// A fixed window's numbers.
#[derive(Clone, Debug)]
pub(crate) struct FixedWindow {
    max: u64,
    window: Span,
    align: Align,
}

/// What a key used since a window's start. With nothing used the start means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WindowState {
    start: Timestamp,
    used: u64,
}

impl Words for WindowState {
    const COUNT: usize = 2;

    #[inline]
    fn read(words: &[u64]) -> WindowState {
        let [start, used] = first(words);
        WindowState { start: Timestamp::from_nanos(start), used }
    }

    #[inline]
    fn write(self, words: &mut [u64]) {
        put(words, [self.start.as_nanos(), self.used]);
    }
}

impl FixedWindow {
    pub(crate) fn new(max: Amount, window: Span, align: Align) -> FixedWindow {
        FixedWindow { max: max.as_micros(), window, align }
    }

    /// The window's length.
    pub(super) fn window(&self) -> Span {
        self.window
    }

    /// The start of the window that begins or stands at `now`.
    fn start(&self, now: Timestamp) -> Timestamp {
        match self.align {
            Align::Epoch => now.floor_to(self.window),
            Align::FirstRequest => now,
        }
    }

    /// The time after `now` until a settled window ends.
    fn ends_after(&self, settled: &WindowState, now: Timestamp) -> Span {
        (settled.start + self.window).since(now)
    }
}

impl Settled for FixedWindow {
    type Copy = WindowState;

    fn state(&self, settled: &WindowState) -> WindowState {
        *settled
    }

    /// The state in the window that stands at `now`.
    ///
    /// When the clock stepped back, the window begins anew where the clock is and keeps its count, so
    /// that it ends within one window's length.
    fn settled(&self, state: &WindowState, now: Timestamp) -> WindowState {
        if state.used == 0 || now >= state.start + self.window {
            return WindowState { start: self.start(now), used: 0 };
        }
        let at = count_from(now, state.start, self.window);
        WindowState { start: state.start.min(at), used: state.used }
    }

    #[inline]
    fn wait_settled(&self, settled: &WindowState, now: Timestamp, cost: u64) -> Option<Span> {
        let room = self.max.checked_sub(cost)?;
        Some(if settled.used <= room { Span::ZERO } else { self.ends_after(settled, now) })
    }

    #[inline]
    fn remaining_settled(&self, settled: &WindowState) -> u64 {
        self.max.saturating_sub(settled.used)
    }

    #[inline]
    fn reset_settled(&self, settled: &WindowState, now: Timestamp) -> Span {
        if settled.used == 0 { Span::ZERO } else { self.ends_after(settled, now) }
    }

    #[inline]
    fn charge_settled(&self, settled: &WindowState, cost: u64) -> WindowState {
        WindowState { used: settled.used.saturating_add(cost).min(2 * self.max), ..*settled }
    }
}

impl Step for FixedWindow {
    type State = WindowState;

    settle_first!();

    /// A window that began with one key's request would end too early for another: it begins anew with
    /// each charge, and keeps its count.
    fn charge_shared(&self, state: &mut WindowState, now: Timestamp, cost: u64) {
        self.charge(state, now, cost);
        if self.align == Align::FirstRequest {
            state.start = state.start.max(now);
        }
    }

    fn refund(&self, state: &mut WindowState, now: Timestamp, cost: u64, taken_at: Timestamp) {
        let WindowState { start, used } = self.settled(state, now);
        if taken_at >= start {
            *state = WindowState { start, used: used.saturating_sub(cost) };
        }
    }

    fn restamp(&self, state: &mut WindowState, now: Timestamp) {
        let settled = self.settled(state, now);
        if settled.used > 0 && settled.start < state.start {
            *state = settled;
        }
    }
}
