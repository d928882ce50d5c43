//! How one check is answered from a key's states.
//!
//! Two passes: first every check is asked, with nothing changed; then, when it is known what is
//! taken, each is charged and its decision written.

use super::entry::{Slot, Slots};
use crate::amount::{Amount, Cost};
use crate::check::{Check, Mode};
use crate::decision::{Decision, Outcome};
use crate::policy::{Part, Policy};
use crate::time::{Span, Timestamp};

/// Until when a part makes a cost wait: nothing for ever, no time at all when it passes.
pub(super) type Wait = Option<Span>;

/// The most parts of one policy: every limit with a spacing.
pub(super) const MAX_PARTS: usize = 2 * Policy::MAX_LIMITS;

/// A key's states under one policy for the length of one call.
pub(super) struct Account<'a> {
    pub(super) policy: &'a Policy,
    pub(super) slots: Slots,
    /// What earlier checks of the same call have asked of these states.
    pending: u64,
    /// Set when the store has no room for this key: how long to wait for some.
    pub(super) no_room: Option<Span>,
}

impl<'a> Account<'a> {
    pub(super) fn new(policy: &'a Policy, slots: Slots) -> Account<'a> {
        Account {
            policy,
            slots,
            pending: 0,
            no_room: None,
        }
    }

    /// Writes each part's wait for the check's cost, on top of what is pending, and says whether the
    /// check passes.
    pub(super) fn ask(&mut self, check: &Check<'_>, now: Timestamp, waits: &mut [Wait]) -> bool {
        let cost = check.cost.as_micros();
        let parts = self.policy.parts();
        let slots = self.slots.align(parts).iter();
        for (slot, (part, wait)) in slots.zip(parts.iter().zip(&mut *waits)) {
            *wait = ask_part(part, slot, cost, self.pending, now);
            if let (Some(room), Some(wait), true) = (self.no_room, wait, cost > 0) {
                *wait = room.max(*wait);
            }
        }
        if check.mode != Mode::Peek {
            self.pending = self.pending.saturating_add(cost);
        }
        waits.iter().all(|wait| *wait == Some(Span::ZERO))
    }

    /// Charges every part.
    pub(super) fn charge(&mut self, cost: Cost, now: Timestamp) {
        let parts = self.policy.parts();
        for (slot, part) in self.slots.align(parts).iter_mut().zip(parts) {
            part.rule.charge(&mut slot.state, now, cost.as_micros());
        }
    }

    /// Gives every part back what was taken at `taken_at`.
    pub(super) fn refund(&mut self, cost: Cost, now: Timestamp, taken_at: Timestamp) {
        let parts = self.policy.parts();
        for (slot, part) in self.slots.align(parts).iter_mut().zip(parts) {
            part.rule
                .refund(&mut slot.state, now, cost.as_micros(), taken_at);
        }
    }

    /// Stamps states anew that the clock stepped back behind.
    pub(super) fn restamp(&mut self, now: Timestamp) {
        let parts = self.policy.parts();
        for (slot, part) in self.slots.align(parts).iter_mut().zip(parts) {
            part.rule.restamp(&mut slot.state, now);
        }
    }

    /// The governing decision, from the waits that were asked and the states as they now are.
    pub(super) fn decision(&mut self, waits: &[Wait], now: Timestamp) -> Decision {
        let policy = self.policy;
        let parts = policy.parts();
        let slots = self.slots.align(parts).iter().zip(parts.iter().zip(waits));
        let mut answers = slots.map(|(slot, (part, wait))| answer(part, slot, *wait, policy, now));
        let first = answers.next();
        let mut limit = first.unwrap_or_else(|| unreachable!("a policy has at least one limit"));
        let mut governing = None;
        for next in answers {
            if next.limit_index == limit.limit_index {
                limit = limit.with_spacing(&next);
            } else {
                governing = Decision::governing(governing.into_iter().chain([limit]));
                limit = next;
            }
        }
        Decision::governing(governing.into_iter().chain([limit])).unwrap_or(limit)
    }

    /// When every state is back to full.
    pub(super) fn full_at(&mut self, now: Timestamp) -> Timestamp {
        let parts = self.policy.parts();
        let slots = self.slots.align(parts).iter().zip(parts);
        let resets = slots.map(|(slot, part)| part.rule.reset_after(&slot.state, now));
        now + resets.max().unwrap_or(Span::ZERO)
    }
}

/// One part's wait for a cost on top of what is pending.
fn ask_part(part: &Part, slot: &Slot, cost: u64, pending: u64, now: Timestamp) -> Wait {
    if cost == 0 {
        return Some(Span::ZERO);
    }
    if pending > 0 && part.rule.is_spacing() {
        return None;
    }
    part.rule
        .wait(&slot.state, now, cost.saturating_add(pending))
}

/// One part's decision.
fn answer(part: &Part, slot: &Slot, wait: Wait, policy: &Policy, now: Timestamp) -> Decision {
    let outcome = match wait {
        None => Outcome::Exceeds,
        Some(Span::ZERO) => Outcome::Allow,
        Some(_) => Outcome::Deny,
    };
    Decision {
        outcome,
        limit_index: part.limit,
        limit: policy.limits()[part.limit].algorithm().max(),
        remaining: Amount::from_micros(part.rule.remaining(&slot.state, now)),
        retry_after: wait.filter(|_| outcome == Outcome::Deny),
        reset_after: part.rule.reset_after(&slot.state, now),
    }
}
