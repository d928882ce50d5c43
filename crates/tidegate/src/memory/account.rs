//! How one check is answered from a key's states.
//!
//! Two passes: first every part is asked, with nothing changed; then, when it is known what becomes of
//! the check, each is charged and answers.

use crate::algorithm::{Answer, Logs};
use crate::amount::{Amount, Cost};
use crate::check::Check;
use crate::decision::{Decision, Outcome};
use crate::mode::{Fate, Mode};
use crate::policy::{Part, Policy};
use crate::time::{Span, Timestamp};

/// Until when a part makes a cost wait: nothing for ever, no time at all when it passes.
pub(super) type Wait = Option<Span>;

/// The most parts of one policy: every limit with a spacing.
pub(super) const MAX_PARTS: usize = 2 * Policy::MAX_LIMITS;

/// How many parts are gone through in one pass at most, each of so many words at most: their states are
/// kept until it is known what becomes of the check.
const FEW_PARTS: usize = 4;
const MAX_WORDS: usize = 3;

/// A key's states under one policy, at one instant.
pub(super) struct Account<'a> {
    pub(super) policy: &'a Policy,
    /// The states, as the policy lays them out; all zeros is a key never seen.
    pub(super) states: &'a mut [u64],
    /// What the states may name.
    pub(super) logs: &'a mut Logs,
    pub(super) now: Timestamp,
    /// What earlier checks of the same call have asked of these states.
    pub(super) pending: u64,
    /// Set when the store has no room for this key: how long to wait for some.
    pub(super) no_room: Option<Span>,
}

impl Part {
    /// What its answer says of its limit.
    #[inline]
    pub(super) fn decided(&self, answer: &Answer) -> Decision {
        let outcome = match answer.wait {
            None => Outcome::Exceeds,
            Some(Span::ZERO) => Outcome::Allow,
            Some(_) => Outcome::Deny,
        };
        Decision {
            outcome,
            limit_index: self.limit,
            limit: self.max,
            remaining: Amount::from_micros(answer.remaining),
            retry_after: answer.wait.filter(|_| outcome == Outcome::Deny),
            reset_after: answer.reset_after,
        }
    }
}

/// Finds the governing one of a check's decisions, each limit's followed by its spacing's.
struct Governing {
    /// That of the limits before the last.
    earlier: Option<Decision>,
    last: Decision,
}

impl Governing {
    fn new(first: Decision) -> Governing {
        Governing { earlier: None, last: first }
    }

    #[inline]
    fn add(&mut self, next: Decision) {
        if next.limit_index == self.last.limit_index {
            self.last = self.last.with_spacing(&next);
        } else {
            self.earlier = Some(self.decision());
            self.last = next;
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        match self.earlier {
            None => self.last,
            Some(earlier) => earlier.or_governing(self.last),
        }
    }
}

/// What one check came to.
pub(super) struct Taken {
    pub(super) decision: Decision,
    /// When the states are back to full, if they were charged.
    pub(super) full_at: Option<Timestamp>,
}

impl Account<'_> {
    /// Decides a check that is a call of its own.
    pub(super) fn take(&mut self, check: &Check<'_>) -> Taken {
        let parts = self.policy.parts().len();
        if self.no_room.is_none() && !self.policy.layout().has_logs() && parts <= FEW_PARTS {
            return self.take_at_once(check);
        }
        // The room for waits is sized by the policy: clearing the most there can be would cost more
        // than deciding.
        match parts {
            1 | 2 => self.take_together::<2>(check),
            _ => self.take_together::<MAX_PARTS>(check),
        }
    }

    /// Decides in one pass, in the hope that all parts allow: where one denies after others were
    /// charged, their states are put back and it is gone through again.
    fn take_at_once(&mut self, check: &Check<'_>) -> Taken {
        let (policy, now, cost) = (self.policy, self.now, check.cost.as_micros());
        let mut before = [0; FEW_PARTS * MAX_WORDS];
        let before = &mut before[..policy.words()];
        before.copy_from_slice(&self.states[..policy.words()]);
        let (mut waits, mut passes) = ([Some(Span::ZERO); FEW_PARTS], true);
        let mut full_after = Span::ZERO;
        let mut governing: Option<Governing> = None;
        for (part, wait) in policy.parts().iter().zip(&mut waits) {
            let states = &mut self.states[part.range()];
            let answer = part.rule.decide(states, self.logs, now, cost, check.mode);
            *wait = answer.wait;
            passes &= answer.wait == Some(Span::ZERO);
            full_after = full_after.max(answer.reset_after);
            let decision = part.decided(&answer);
            match &mut governing {
                None => governing = Some(Governing::new(decision)),
                Some(governing) => governing.add(decision),
            }
        }
        match governing {
            Some(governing) if passes || check.mode != Mode::Take => {
                let is_charged = check.mode.fate(cost, passes) == Fate::Charged;
                let full_at = is_charged.then(|| now + full_after);
                Taken { decision: governing.decision(), full_at }
            }
            _ => {
                self.states[..policy.words()].copy_from_slice(before);
                self.conclude(check, &waits, passes)
            }
        }
    }

    fn take_together<const N: usize>(&mut self, check: &Check<'_>) -> Taken {
        let mut waits = [Some(Span::ZERO); N];
        let waits = &mut waits[..self.policy.parts().len()];
        let passes = self.ask(check, waits);
        self.conclude(check, waits, passes)
    }

    /// Writes each part's wait for the check's cost, on top of what is pending, and says whether the
    /// check passes.
    pub(super) fn ask(&self, check: &Check<'_>, waits: &mut [Wait]) -> bool {
        let cost = check.cost.as_micros();
        let mut passes = true;
        for (part, wait) in self.policy.parts().iter().zip(waits) {
            *wait = self.ask_part(part, cost);
            if let (Some(room), Some(wait), true) = (self.no_room, &mut *wait, cost > 0) {
                *wait = room.max(*wait);
            }
            passes &= *wait == Some(Span::ZERO);
        }
        passes
    }

    /// One part's wait for a cost on top of what is pending.
    fn ask_part(&self, part: &Part, cost: u64) -> Wait {
        if cost == 0 {
            return Some(Span::ZERO);
        }
        if self.pending > 0 && part.rule.is_spacing() {
            return None;
        }
        let cost = cost.saturating_add(self.pending);
        part.rule.wait(&self.states[part.range()], self.logs, self.now, cost)
    }

    /// Does to the states what becomes of the check, given each part's wait and whether its call
    /// passes.
    pub(super) fn conclude(&mut self, check: &Check<'_>, waits: &[Wait], passes: bool) -> Taken {
        let (policy, now, cost) = (self.policy, self.now, check.cost.as_micros());
        let fate = check.mode.fate(cost, passes);
        let mut answer = |part: &Part, wait: Wait| {
            let states = &mut self.states[part.range()];
            let answer = part.rule.conclude(states, self.logs, now, cost, (wait, fate));
            (part.decided(&answer), answer.reset_after)
        };
        let parts = policy.parts();
        let (first, mut full_after) = answer(&parts[0], waits[0]);
        let mut governing = Governing::new(first);
        for (part, wait) in parts.iter().zip(waits).skip(1) {
            let (decision, reset_after) = answer(part, *wait);
            governing.add(decision);
            full_after = full_after.max(reset_after);
        }
        let full_at = (fate == Fate::Charged).then(|| now + full_after);
        Taken { decision: governing.decision(), full_at }
    }

    /// Gives every part back what was taken at `taken_at`.
    pub(super) fn refund(&mut self, cost: Cost, taken_at: Timestamp) {
        for part in self.policy.parts() {
            let states = &mut self.states[part.range()];
            part.rule.refund(states, self.logs, self.now, cost.as_micros(), taken_at);
        }
    }

    /// When every state is back to full.
    pub(super) fn full_at(&self) -> Timestamp {
        let reset_after =
            |part: &Part| part.rule.reset_after(&self.states[part.range()], self.logs, self.now);
        self.now + self.policy.parts().iter().map(reset_after).max().unwrap_or(Span::ZERO)
    }

    /// Forgets the logs that the states name, when the states are not kept.
    pub(super) fn discard(self) {
        for part in self.policy.parts().iter().filter(|part| part.rule.is_log()) {
            self.logs.forget(&mut self.states[part.range()]);
        }
    }
}
