//! A fixed window.

use num_traits::Zero;

use super::counter::Count;
use super::{Exact, Ticks};

/// One window: where it began and what was used in it.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    max: Exact,
    window: Ticks,
    aligned: bool,
    start: Ticks,
    used: Exact,
}

impl Fixed {
    pub(super) fn empty(max: Exact, window: Ticks, aligned: bool) -> Fixed {
        Fixed { max, window, aligned, start: 0, used: Exact::zero() }
    }

    /// What was used of another window, under this one's numbers.
    pub(super) fn with_use_of(self, kept: &Fixed) -> Fixed {
        Fixed { start: kept.start, used: kept.used.clone(), ..self }
    }
}

impl Count for Fixed {
    fn newest(&self) -> Option<Ticks> {
        (!self.used.is_zero()).then_some(self.start)
    }

    fn is_within_refill(&self, behind: Ticks) -> bool {
        behind <= self.window
    }

    fn restamp(&mut self, now: Ticks) {
        self.start = self.start.min(now);
    }

    fn advance(&mut self, at: Ticks) {
        if self.used.is_zero() || at >= self.start + self.window {
            let aligned = at - at.rem_euclid(self.window);
            self.start = if self.aligned { aligned } else { at };
            self.used = Exact::zero();
        }
    }

    fn used(&self, _at: Ticks) -> Exact {
        self.used.clone()
    }

    fn charge(&mut self, cost: &Exact, _at: Ticks) {
        let most = &self.max + &self.max;
        self.used = (&self.used + cost).min(most);
    }

    fn refund(&mut self, cost: &Exact, taken_at: Ticks) -> bool {
        let counts = taken_at >= self.start;
        if counts {
            self.used = (&self.used - cost).max(Exact::zero());
        }
        counts
    }
}
