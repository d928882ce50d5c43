//! A rolling window as the list of what was taken when.

use num_traits::Zero;

use super::counter::Count;
use super::{Exact, Ticks};

/// What was taken in the last window, oldest first; one entry for each instant.
#[derive(Clone, Debug)]
pub(super) struct Rolling {
    max: Exact,
    window: Ticks,
    log: Vec<(Ticks, Exact)>,
}

impl Rolling {
    pub(super) fn empty(max: Exact, window: Ticks) -> Rolling {
        Rolling { max, window, log: Vec::new() }
    }

    /// What was taken of another window, under this one's numbers.
    pub(super) fn with_use_of(self, kept: &Rolling) -> Rolling {
        Rolling { log: kept.log.clone(), ..self }
    }

    /// Adds an amount to the entry of an instant that is not before the newest.
    fn push(&mut self, at: Ticks, amount: Exact) {
        match self.log.last_mut() {
            Some((last, sum)) if *last == at => *sum += amount,
            _ => self.log.push((at, amount)),
        }
    }
}

impl Count for Rolling {
    fn newest(&self) -> Option<Ticks> {
        self.log.last().map(|(at, _)| *at)
    }

    fn is_within_refill(&self, behind: Ticks) -> bool {
        behind <= self.window
    }

    fn restamp(&mut self, now: Ticks) {
        for (at, amount) in std::mem::take(&mut self.log) {
            self.push(at.min(now), amount);
        }
    }

    fn advance(&mut self, at: Ticks) {
        self.log.retain(|(then, _)| then + self.window > at);
    }

    fn used(&self, _at: Ticks) -> Exact {
        self.log.iter().map(|(_, amount)| amount.clone()).sum()
    }

    fn charge(&mut self, cost: &Exact, at: Ticks) {
        let most = &self.max + &self.max - self.used(at);
        let charged = cost.clone().min(most);
        if !charged.is_zero() {
            self.push(at, charged);
        }
    }

    fn refund(&mut self, cost: &Exact, taken_at: Ticks) -> bool {
        let taken = self.log.iter_mut().rev().find(|(at, _)| *at <= taken_at);
        let Some((_, amount)) = taken else {
            return false;
        };
        *amount = (&*amount - cost).max(Exact::zero());
        self.log.retain(|(_, amount)| !amount.is_zero());
        true
    }
}
