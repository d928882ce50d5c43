//! A minimum spacing: one request of a key no sooner than an interval after the last.

use super::{Step, Words, count_from, first, put};
use crate::time::{Span, Timestamp};

/// The interval.
#[derive(Clone, Debug)]
pub(crate) struct Spacing {
    interval: Span,
}

/// When the last request passed, if there was one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SpacingState {
    last: Option<Timestamp>,
}

/// Zero is never; anything else is one nanosecond after the last request.
impl Words for SpacingState {
    const COUNT: usize = 1;

    fn read(words: &[u64]) -> SpacingState {
        let [after] = first(words);
        SpacingState { last: after.checked_sub(1).map(Timestamp::from_nanos) }
    }

    fn write(self, words: &mut [u64]) {
        put(words, [self.last.map_or(0, |last| last.as_nanos().saturating_add(1))]);
    }
}

impl Spacing {
    pub(crate) fn new(interval: Span) -> Spacing {
        Spacing { interval }
    }

    /// The interval.
    pub(super) fn interval(&self) -> Span {
        self.interval
    }

    /// When the last request counts as passed: later than the clock only when it was read late.
    fn last(&self, state: &SpacingState, now: Timestamp) -> Option<Timestamp> {
        state.last.map(|last| last.min(count_from(now, last, self.interval)))
    }
}

/// A spacing knows no amounts: any cost above zero is one request, and two at once never pass.
impl Step for Spacing {
    type State = SpacingState;

    fn wait(&self, state: &SpacingState, now: Timestamp, cost: u64) -> Option<Span> {
        Some(if cost == 0 { Span::ZERO } else { self.reset_after(state, now) })
    }

    fn remaining(&self, _: &SpacingState, _now: Timestamp) -> u64 {
        0
    }

    fn reset_after(&self, state: &SpacingState, now: Timestamp) -> Span {
        let last = self.last(state, now);
        last.map_or(Span::ZERO, |last| (last + self.interval).since(now))
    }

    fn charge(&self, state: &mut SpacingState, now: Timestamp, _cost: u64) {
        let last = self.last(state, now);
        state.last = Some(last.map_or(now, |last| last.max(now)));
    }

    fn refund(&self, _: &mut SpacingState, _now: Timestamp, _cost: u64, _taken_at: Timestamp) {}

    fn restamp(&self, state: &mut SpacingState, now: Timestamp) {
        state.last = self.last(state, now);
    }
}
