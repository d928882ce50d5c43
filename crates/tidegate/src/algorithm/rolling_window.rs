//! The rolling window: an exact log of what was taken when.

use std::collections::VecDeque;

use super::{Step, count_from};
use crate::amount::Amount;
use crate::time::{Span, Timestamp};

/// A rolling window's numbers.
#[derive(Clone, Debug)]
pub(crate) struct RollingWindow {
    max: u64,
    window: Span,
}

/// What was taken within the last window: one entry an instant, oldest first, none of them zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    sum: u64,
    entries: VecDeque<Entry>,
}

/// What was taken at one instant.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Timestamp,
    amount: u64,
}

impl Log {
    /// A log of nothing.
    pub(super) const EMPTY: Log = Log { sum: 0, entries: VecDeque::new() };

    fn newest(&self) -> Timestamp {
        self.entries.back().map_or(Timestamp::EPOCH, |entry| entry.time)
    }

    /// Adds to the entry at `time`, which is no earlier than any other.
    fn add(&mut self, time: Timestamp, amount: u64) {
        self.sum += amount;
        match self.entries.back_mut() {
            Some(last) if last.time == time => last.amount += amount,
            _ => self.entries.push_back(Entry { time, amount }),
        }
    }

    /// Takes `amount`, which is no more than the sum, from the oldest entries.
    fn drop_oldest(&mut self, amount: u64) {
        self.sum -= amount;
        let mut left = amount;
        while let Some(oldest) = self.entries.front_mut() {
            if oldest.amount > left {
                oldest.amount -= left;
                break;
            }
            left -= oldest.amount;
            self.entries.pop_front();
        }
    }

    /// Stamps everything later than `now` with `now`.
    fn pull_back(&mut self, now: Timestamp) {
        let mut pulled = 0;
        while let Some(entry) = self.entries.pop_back_if(|entry| entry.time > now) {
            pulled += entry.amount;
        }
        self.sum -= pulled;
        if pulled > 0 {
            self.add(now, pulled);
        }
    }

    /// Drops what no longer counts at `at`, and memory that is no longer needed.
    fn expire(&mut self, at: Timestamp, window: Span) {
        while let Some(entry) = self.entries.pop_front_if(|entry| entry.time + window <= at) {
            self.sum -= entry.amount;
        }
        if self.entries.capacity() > 4 * self.entries.len() + 16 {
            self.entries.shrink_to(2 * self.entries.len());
        }
    }
}

impl RollingWindow {
    pub(crate) fn new(max: Amount, window: Span) -> RollingWindow {
        RollingWindow { max: max.as_micros(), window }
    }

    /// The window's length.
    pub(super) fn window(&self) -> Span {
        self.window
    }

    /// The instant from which the log is counted.
    fn at(&self, log: &Log, now: Timestamp) -> Timestamp {
        count_from(now, log.newest(), self.window)
    }

    /// What counts at `at`, oldest first; what is written later than `at` counts as of `at`.
    fn counted<'a>(&self, log: &'a Log, at: Timestamp) -> impl Iterator<Item = Entry> + 'a {
        let window = self.window;
        let expired = move |entry: &Entry| entry.time + window <= at;
        let entries = log.entries.iter().copied().skip_while(expired);
        entries.map(move |entry| Entry { time: entry.time.min(at), ..entry })
    }

    /// How much counts at `at`.
    fn used(&self, log: &Log, at: Timestamp) -> u64 {
        let expired = log.entries.iter().take_while(|entry| entry.time + self.window <= at);
        log.sum - expired.map(|entry| entry.amount).sum::<u64>()
    }

    /// Brings the log to `now` for writing, and says from which instant it counts.
    fn settle(&self, log: &mut Log, now: Timestamp) -> Timestamp {
        let at = self.at(log, now);
        log.pull_back(at);
        log.expire(at, self.window);
        at
    }
}

impl Step for RollingWindow {
    type State = Log;

    fn wait(&self, log: &Log, now: Timestamp, cost: u64) -> Option<Span> {
        let room = self.max.checked_sub(cost)?;
        let at = self.at(log, now);
        let mut over = self.used(log, at).saturating_sub(room);
        let mut wait = Span::ZERO;
        for entry in self.counted(log, at) {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(entry.amount);
            wait = (entry.time + self.window).since(now);
        }
        Some(wait)
    }

    fn remaining(&self, log: &Log, now: Timestamp) -> u64 {
        self.max.saturating_sub(self.used(log, self.at(log, now)))
    }

    fn reset_after(&self, log: &Log, now: Timestamp) -> Span {
        let newest = log.newest().min(self.at(log, now));
        if log.entries.is_empty() { Span::ZERO } else { (newest + self.window).since(now) }
    }

    fn charge(&self, log: &mut Log, now: Timestamp, cost: u64) {
        let at = self.settle(log, now);
        let amount = cost.min((2 * self.max).saturating_sub(log.sum));
        if amount > 0 {
            log.add(at, amount);
        }
    }

    /// Where there is no room for a charge, older entries make it: their keys then count for longer.
    fn charge_shared(&self, log: &mut Log, now: Timestamp, cost: u64) {
        let at = self.settle(log, now);
        let amount = cost.min(2 * self.max);
        log.drop_oldest((log.sum + amount).saturating_sub(2 * self.max));
        if amount > 0 {
            log.add(at, amount);
        }
    }

    fn refund(&self, log: &mut Log, now: Timestamp, cost: u64, taken_at: Timestamp) {
        // What is over is dropped, and then nothing is written, so that a store which has forgotten
        // the key already answers the same.
        let mut counted = self.counted(log, self.at(log, now));
        if counted.next().is_none_or(|oldest| oldest.time > taken_at) {
            return;
        }
        drop(counted);
        self.settle(log, now);
        // The newest entry no later than the taking: a late reading was written under a slightly
        // later time, and then an older entry stands in for it, which frees no more than was taken.
        let place = log.entries.partition_point(|entry| entry.time <= taken_at);
        let Some(entry) = place.checked_sub(1).and_then(|place| log.entries.get_mut(place)) else {
            return;
        };
        let amount = cost.min(entry.amount);
        entry.amount -= amount;
        log.sum -= amount;
        if entry.amount == 0 {
            log.entries.remove(place - 1);
        }
    }

    fn restamp(&self, log: &mut Log, now: Timestamp) {
        log.pull_back(self.at(log, now));
    }
}
