//! A minimum interval: room for one request, free again when the interval is over.

use num_traits::{One, Zero};

use super::counter::Count;
use super::{Exact, Ticks};

/// When the last request was charged.
#[derive(Clone, Debug)]
pub(super) struct Spacing {
    interval: Ticks,
    last: Option<Ticks>,
}

impl Spacing {
    pub(super) fn never(interval: Ticks) -> Spacing {
        Spacing { interval, last: None }
    }

    /// The last request of another spacing, under this one's interval.
    pub(super) fn with_use_of(self, kept: &Spacing) -> Spacing {
        Spacing { last: kept.last, ..self }
    }
}

impl Count for Spacing {
    fn newest(&self) -> Option<Ticks> {
        self.last
    }

    fn is_within_refill(&self, behind: Ticks) -> bool {
        behind <= self.interval
    }

    fn restamp(&mut self, now: Ticks) {
        self.last = self.last.min(Some(now));
    }

    fn advance(&mut self, _at: Ticks) {}

    fn used(&self, at: Ticks) -> Exact {
        match self.last {
            Some(last) if at < last + self.interval => Exact::one(),
            _ => Exact::zero(),
        }
    }

    fn charge(&mut self, _cost: &Exact, at: Ticks) {
        self.last = Some(at);
    }

    /// Giving units back does not undo that the request was made.
    fn refund(&mut self, _cost: &Exact, _taken_at: Ticks) -> bool {
        false
    }
}
