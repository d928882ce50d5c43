//! The rolling window: an exact log of what was taken when.

mod amounts;
mod log;
mod ring;

use super::{Answer, Step, count_from};
use crate::amount::Amount;
use crate::mode::{Fate, Mode};
use crate::time::{Span, Timestamp};

pub(super) use log::Log;

/// A rolling window's numbers.
#[derive(Clone, Debug)]
pub(crate) struct RollingWindow {
    max: u64,
    window: Span,
}

/// How a log stands at one moment.
#[derive(Clone, Copy)]
struct Standing {
    /// The instant from which it is counted.
    at: Timestamp,
    /// How many of the oldest entries no longer count.
    expired: usize,
    /// How much the others hold.
    used: u64,
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

    #[inline]
    fn standing(&self, log: &Log, now: Timestamp) -> Standing {
        let at = self.at(log, now);
        let expired = log.expired(at, self.window);
        Standing { at, expired, used: log.sum_from(expired) }
    }

    /// See [`Step::wait`], of a log that stands so.
    #[inline]
    fn wait_from(&self, log: &Log, from: Standing, now: Timestamp, cost: u64) -> Option<Span> {
        let room = self.max.checked_sub(cost)?;
        if from.used <= room {
            return Some(Span::ZERO);
        }
        // It passes once the entries up to this one are gone; one written later than `at` counts as
        // of `at`.
        let last = log.time(log.reaching(from.expired, from.used - room)).unwrap_or(from.at);
        Some((last.min(from.at) + self.window).since(now))
    }

    /// Brings a log that stands so up to then, for writing.
    #[inline]
    fn settle(log: &mut Log, from: Standing) {
        log.pull_back(from.at);
        log.drop_first(from.expired);
    }

    /// See [`Step::charge`], of a log that stands so; says how much it took.
    #[inline]
    fn charge_from(&self, log: &mut Log, from: Standing, cost: u64) -> u64 {
        Self::settle(log, from);
        let amount = cost.min((2 * self.max).saturating_sub(from.used));
        if amount > 0 {
            log.add(from.at, amount);
        }
        amount
    }

    /// See [`Step::conclude`], of a log that stands so.
    #[inline]
    fn end(
        &self,
        log: &mut Log,
        from: Standing,
        now: Timestamp,
        cost: u64,
        (wait, fate): (Option<Span>, Fate),
    ) -> Answer {
        let mut used = from.used;
        match fate {
            Fate::Charged => used += self.charge_from(log, from, cost),
            Fate::Refused => log.pull_back(from.at),
            Fate::Seen => {}
        }
        let (charged, remaining) = (fate == Fate::Charged, self.max.saturating_sub(used));
        Answer { wait, charged, remaining, reset_after: self.reset_after(log, now) }
    }
}

impl Step for RollingWindow {
    type State = Log;

    fn wait(&self, log: &Log, now: Timestamp, cost: u64) -> Option<Span> {
        self.wait_from(log, self.standing(log, now), now, cost)
    }

    fn remaining(&self, log: &Log, now: Timestamp) -> u64 {
        self.max.saturating_sub(self.standing(log, now).used)
    }

    fn reset_after(&self, log: &Log, now: Timestamp) -> Span {
        let newest = log.newest().min(self.at(log, now));
        if log.is_empty() { Span::ZERO } else { (newest + self.window).since(now) }
    }

    fn charge(&self, log: &mut Log, now: Timestamp, cost: u64) {
        self.charge_from(log, self.standing(log, now), cost);
    }

    /// The same with the log looked through once.
    #[inline]
    fn decide(&self, log: &mut Log, now: Timestamp, cost: u64, mode: Mode) -> Answer {
        let from = self.standing(log, now);
        let wait = match cost {
            0 => Some(Span::ZERO),
            cost => self.wait_from(log, from, now, cost),
        };
        let fate = mode.fate(cost, wait == Some(Span::ZERO));
        self.end(log, from, now, cost, (wait, fate))
    }

    fn conclude(
        &self,
        log: &mut Log,
        now: Timestamp,
        cost: u64,
        wait: Option<Span>,
        fate: Fate,
    ) -> Answer {
        self.end(log, self.standing(log, now), now, cost, (wait, fate))
    }

    /// Where there is no room for a charge, older entries make it: their keys then count for longer.
    fn charge_shared(&self, log: &mut Log, now: Timestamp, cost: u64) {
        let from = self.standing(log, now);
        Self::settle(log, from);
        let amount = cost.min(2 * self.max);
        log.drop_oldest((log.sum() + amount).saturating_sub(2 * self.max));
        if amount > 0 {
            log.add(from.at, amount);
        }
    }

    fn refund(&self, log: &mut Log, now: Timestamp, cost: u64, taken_at: Timestamp) {
        // What is over is dropped, and then nothing is written, so that a store which has forgotten
        // the key already answers the same.
        let from = self.standing(log, now);
        let oldest = log.time(from.expired);
        if oldest.is_none_or(|oldest| oldest.min(from.at) > taken_at) {
            return;
        }
        Self::settle(log, from);
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
