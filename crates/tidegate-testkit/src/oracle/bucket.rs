//! A token bucket as a level that rises.

use super::counter::Count;
use super::{Exact, Ticks};

/// A bucket, its level in exact units, and the instant at which it had that level.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    capacity: Exact,
    per_tick: Exact,
    level: Exact,
    time: Ticks,
}

impl Bucket {
    pub(super) fn full(capacity: Exact, per_tick: Exact) -> Bucket {
        Bucket { level: capacity.clone(), capacity, per_tick, time: 0 }
    }

    /// What another bucket owes, under this one's numbers.
    pub(super) fn with_use_of(self, kept: &Bucket) -> Bucket {
        let owed = &kept.capacity - &kept.level;
        Bucket { level: &self.capacity - owed, time: kept.time, ..self }
    }

    /// What comes in during so many ticks.
    fn income(&self, ticks: Ticks) -> Exact {
        &self.per_tick * Exact::from_integer(ticks.into())
    }
}

impl Count for Bucket {
    fn newest(&self) -> Option<Ticks> {
        (self.level < self.capacity).then_some(self.time)
    }

    fn is_within_refill(&self, behind: Ticks) -> bool {
        self.income(behind) <= self.capacity
    }

    fn restamp(&mut self, now: Ticks) {
        self.time = now;
    }

    fn advance(&mut self, at: Ticks) {
        // A full bucket may have a time that a clock set back has not reached yet.
        let risen = &self.level + self.income((at - self.time).max(0));
        self.level = risen.min(self.capacity.clone());
        self.time = at;
    }

    fn used(&self, _at: Ticks) -> Exact {
        &self.capacity - &self.level
    }

    fn charge(&mut self, cost: &Exact, _at: Ticks) {
        let lowest = -self.capacity.clone();
        self.level = (&self.level - cost).max(lowest);
    }

    fn refund(&mut self, cost: &Exact, _taken_at: Ticks) -> bool {
        self.level = (&self.level + cost).min(self.capacity.clone());
        true
    }
}
