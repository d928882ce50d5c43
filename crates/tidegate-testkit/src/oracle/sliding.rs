//! A sliding window: the previous window's count fades while the current one's grows.

use num_traits::Zero;

use super::counter::Count;
use super::{Exact, Ticks};

/// Two counts and where the window of the second began.
#[derive(Clone, Debug)]
pub(super) struct Sliding {
    max: Exact,
    window: Ticks,
    start: Ticks,
    previous: Exact,
    current: Exact,
}

impl Sliding {
    pub(super) fn empty(max: Exact, window: Ticks) -> Sliding {
        Sliding { max, window, start: 0, previous: Exact::zero(), current: Exact::zero() }
    }

    /// What was used of another window, under this one's numbers.
    pub(super) fn with_use_of(self, kept: &Sliding) -> Sliding {
        let (previous, current) = (kept.previous.clone(), kept.current.clone());
        Sliding { start: kept.start, previous, current, ..self }
    }

    /// Whole units of the previous window that still count.
    fn fading(&self, at: Ticks) -> Exact {
        let left = Exact::new((self.start + self.window - at).into(), self.window.into());
        (&self.previous * left).floor()
    }

    /// Whether this counts for nothing, even where the previous window has not begun to fade.
    fn is_empty(&self) -> bool {
        self.previous.floor().is_zero() && self.current.is_zero()
    }
}

impl Count for Sliding {
    fn newest(&self) -> Option<Ticks> {
        (!self.is_empty()).then_some(self.start)
    }

    fn is_within_refill(&self, behind: Ticks) -> bool {
        behind <= self.window
    }

    fn restamp(&mut self, now: Ticks) {
        self.start = self.start.min(now);
    }

    fn advance(&mut self, at: Ticks) {
        if self.newest().is_some() && at < self.start + 2 * self.window {
            if at >= self.start + self.window {
                self.previous = std::mem::replace(&mut self.current, Exact::zero());
                self.start += self.window;
            }
            if !self.used(at).is_zero() {
                return;
            }
        }
        // Full is the same as never asked: the window is the one that the clock is in.
        self.previous = Exact::zero();
        self.current = Exact::zero();
        self.start = at - at.rem_euclid(self.window);
    }

    fn used(&self, at: Ticks) -> Exact {
        self.fading(at) + &self.current
    }

    fn charge(&mut self, cost: &Exact, at: Ticks) {
        let most = &self.max + &self.max - self.fading(at);
        // After a step back more may count than that; a charge never makes it less.
        let charged = (&self.current + cost).min(most);
        self.current = charged.max(self.current.clone());
    }

    fn refund(&mut self, cost: &Exact, taken_at: Ticks) -> bool {
        let less = |count: &Exact| (count - cost).max(Exact::zero());
        if taken_at >= self.start {
            self.current = less(&self.current);
        } else if taken_at >= self.start - self.window {
            self.previous = less(&self.previous);
        } else {
            return false;
        }
        true
    }
}
