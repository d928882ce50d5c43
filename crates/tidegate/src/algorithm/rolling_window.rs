//! The rolling window: an exact log of what was taken when.

mod amounts;
mod log;
mod ring;

use super::{Step, count_from};
use crate::amount::Amount;
use crate::time::{Span, Timestamp};

pub(super) use log::Log;

/// A rolling window's numbers.
#[derive(Clone, Debug)]
pub(crate) struct RollingWindow {
    max: u64,
    window: Span,
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

    /// How much counts at `at`.
    fn used(&self, log: &Log, at: Timestamp) -> u64 {
        log.sum_from(log.expired(at, self.window))
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
        let expired = log.expired(at, self.window);
        let over = log.sum_from(expired).saturating_sub(room);
        if over == 0 {
            return Some(Span::ZERO);
        }
        // It passes once the entries up to this one are gone; one written later than `at` counts as
        // of `at`.
        let last = log.time(log.reaching(expired, over)).unwrap_or(at);
        Some((last.min(at) + self.window).since(now))
    }

    fn remaining(&self, log: &Log, now: Timestamp) -> u64 {
        self.max.saturating_sub(self.used(log, self.at(log, now)))
    }

    fn reset_after(&self, log: &Log, now: Timestamp) -> Span {
        let newest = log.newest().min(self.at(log, now));
        if log.is_empty() { Span::ZERO } else { (newest + self.window).since(now) }
    }

    fn charge(&self, log: &mut Log, now: Timestamp, cost: u64) {
        let at = self.settle(log, now);
        let amount = cost.min((2 * self.max).saturating_sub(log.sum()));
        if amount > 0 {
            log.add(at, amount);
        }
    }

    /// Where there is no room for a charge, older entries make it: their keys then count for longer.
    fn charge_shared(&self, log: &mut Log, now: Timestamp, cost: u64) {
        let at = self.settle(log, now);
        let amount = cost.min(2 * self.max);
        log.drop_oldest((log.sum() + amount).saturating_sub(2 * self.max));
        if amount > 0 {
            log.add(at, amount);
        }
    }

    fn refund(&self, log: &mut Log, now: Timestamp, cost: u64, taken_at: Timestamp) {
        // What is over is dropped, and then nothing is written, so that a store which has forgotten
        // the key already answers the same.
        let at = self.at(log, now);
        let oldest = log.time(log.expired(at, self.window));
        if oldest.is_none_or(|oldest| oldest.min(at) > taken_at) {
            return;
        }
        self.settle(log, now);
        // The newest entry no later than the taking: a late reading was written under a slightly
        // later time, and then an older entry stands in for it, which frees no more than was taken.
        if let Some(place) = log.newest_until(taken_at) {
            log.take_from(place, cost);
        }
    }

    fn restamp(&self, log: &mut Log, now: Timestamp) {
        log.pull_back(self.at(log, now));
    }
}
