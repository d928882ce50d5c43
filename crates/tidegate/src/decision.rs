//! What a store answers.

use std::cmp::Ordering;

use crate::amount::Amount;
use crate::time::{Span, Timestamp};

/// Whether a cost may pass.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Limit, Limiter, MemoryStore, Outcome, Policy};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "5/s")?])?;
/// let limiter = Limiter::new(MemoryStore::new(), policy);
/// let too_much = limiter.check_cost("alice", Amount::from_units(6))?;
/// assert_eq!(too_much.outcome, Outcome::Exceeds);
/// assert_eq!(too_much.retry_after, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It passes.
    Allow,
    /// It does not pass now; it would after the decision's `retry_after`.
    Deny,
    /// It is more than the limit can ever hold: it never passes.
    Exceeds,
}

/// The answer to one check: that of its governing limit.
///
/// Of several limits the governing one is the one that exceeds, else the denying one with the
/// longest wait, else the one with the least share remaining; ties go to the first in the policy.
/// Waits are compared as whole microseconds, rounded up, so that every store names the same limit.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Limiter, MemoryStore, Outcome, Policy};
///
/// let policy = Policy::new("login", [Limit::quota("slow", "1/hour")?])?;
/// let limiter = Limiter::new(MemoryStore::new(), policy);
/// let first = limiter.check("alice")?;
/// assert_eq!(first.outcome, Outcome::Allow);
/// assert_eq!(first.remaining.whole_units(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the cost passes.
    pub outcome: Outcome,
    /// Which of the policy's limits governs, by its place in the policy.
    pub limit_index: usize,
    /// The most the governing limit holds.
    pub limit: Amount,
    /// What is left of it, also when denied; zero in debt.
    pub remaining: Amount,
    /// On a denial, the exact time until this cost passes if nobody else asks; otherwise none.
    pub retry_after: Option<Span>,
    /// The time until the limit is full again if nobody asks; zero when it is full.
    pub reset_after: Span,
}

impl Decision {
    /// Whether the outcome is [`Outcome::Allow`].
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.outcome == Outcome::Allow
    }

    /// Orders decisions by how much they govern: the greater one is reported.
    #[inline]
    pub(crate) fn precedence(&self, other: &Decision) -> Ordering {
        let rank = |decision: &Decision| match decision.outcome {
            Outcome::Allow => 0,
            Outcome::Deny => 1,
            Outcome::Exceeds => 2,
        };
        let by_rank = rank(self).cmp(&rank(other));
        by_rank.then_with(|| match self.outcome {
            Outcome::Deny => self.wait_in_micros().cmp(&other.wait_in_micros()),
            Outcome::Allow | Outcome::Exceeds => other.share().cmp(&self.share()),
        })
    }

    /// The wait in the coarsest tick that a store has.
    fn wait_in_micros(&self) -> Option<u64> {
        self.retry_after.map(Span::as_micros_ceil)
    }

    /// Remaining over limit, as a fraction that compares exactly.
    fn share(&self) -> Share {
        Share { part: self.remaining.as_micros(), whole: self.limit.as_micros() }
    }

    /// Of one check's decisions by its limits, the governing one.
    ///
    /// Returns nothing only for no decisions at all.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::Decision;
    ///
    /// assert_eq!(Decision::governing([]), None);
    /// ```
    #[must_use]
    pub fn governing(decisions: impl IntoIterator<Item = Decision>) -> Option<Decision> {
        decisions.into_iter().reduce(Decision::or_governing)
    }

    /// The next decision of the same check where it governs, and this one elsewhere.
    #[inline]
    pub(crate) fn or_governing(self, next: Decision) -> Decision {
        match next.precedence(&self) {
            Ordering::Greater => next,
            Ordering::Less => self,
            // Whoever waits as told must pass, so the nanoseconds of a tie count there.
            Ordering::Equal => {
                Decision { retry_after: self.retry_after.max(next.retry_after), ..self }
            }
        }
    }

    /// Folds a minimum spacing's answer into that of the limit it belongs to: the worse outcome,
    /// the longer wait, the limit's own numbers.
    ///
    /// For stores, which keep a spacing's state apart from its limit's.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Amount, Decision, Outcome, Span};
    ///
    /// let own = Decision {
    ///     outcome: Outcome::Allow,
    ///     limit_index: 0,
    ///     limit: Amount::from_units(5),
    ///     remaining: Amount::from_units(4),
    ///     retry_after: None,
    ///     reset_after: Span::ZERO,
    /// };
    /// let wait = Some(Span::from_millis(500));
    /// let spacing = Decision { outcome: Outcome::Deny, retry_after: wait, ..own };
    /// assert_eq!(own.with_spacing(&spacing).retry_after, wait);
    /// ```
    #[must_use]
    pub fn with_spacing(self, spacing: &Decision) -> Decision {
        let outcome = match (self.outcome, spacing.outcome) {
            (Outcome::Exceeds, _) | (_, Outcome::Exceeds) => Outcome::Exceeds,
            (Outcome::Deny, _) | (_, Outcome::Deny) => Outcome::Deny,
            (Outcome::Allow, Outcome::Allow) => Outcome::Allow,
        };
        let wait = self.retry_after.max(spacing.retry_after);
        Decision {
            outcome,
            retry_after: wait.filter(|_| outcome == Outcome::Deny),
            reset_after: self.reset_after.max(spacing.reset_after),
            ..self
        }
    }
}

/// A fraction from 0 to 1; nothing of nothing counts as 0.
struct Share {
    part: u64,
    whole: u64,
}

impl Share {
    fn cmp(&self, other: &Share) -> Ordering {
        let whole = |share: &Share| u128::from(share.whole.max(1));
        (u128::from(self.part) * whole(other)).cmp(&(u128::from(other.part) * whole(self)))
    }
}

/// The answer to one request: a decision for each of its checks.
///
/// # Examples
///
/// ```
/// use tidegate::{Check, Cost, Key, Limit, MemoryStore, Policy};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "1/s")?])?;
/// let store = MemoryStore::new();
/// let check = |key| Check::take(key, &policy, Cost::ONE);
/// let verdict = store.take(&[check(Key::new("a")?), check(Key::new("b")?)]);
/// assert!(verdict.is_allowed());
/// assert_eq!(verdict.decisions().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    at: Timestamp,
    decisions: Decisions,
}

/// One decision without an allocation, or several with one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Decisions {
    One([Decision; 1]),
    Many(Vec<Decision>),
}

impl Verdict {
    /// The verdict on one check, made at the store's time `at`.
    #[must_use]
    pub fn one(at: Timestamp, decision: Decision) -> Verdict {
        Verdict { at, decisions: Decisions::One([decision]) }
    }

    /// The verdict on any number of checks, in their order, made at the store's time `at`.
    #[must_use]
    pub fn many(at: Timestamp, decisions: Vec<Decision>) -> Verdict {
        Verdict { at, decisions: Decisions::Many(decisions) }
    }

    /// When the store decided, by its own clock: what a refund of this verdict names.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// A decision for each check, in the order asked.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        match &self.decisions {
            Decisions::One(one) => one,
            Decisions::Many(many) => many,
        }
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_decisions(self) -> Vec<Decision> {
        match self.decisions {
            Decisions::One([one]) => vec![one],
            Decisions::Many(many) => many,
        }
    }

    /// Whether every check is allowed.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.decisions().iter().all(Decision::is_allowed)
    }

    /// Which check's decision governs: its place, or 0 when there are no checks.
    #[must_use]
    pub fn governing(&self) -> usize {
        let decisions = self.decisions();
        (1..decisions.len()).fold(0, |best, next| {
            match decisions[next].precedence(&decisions[best]) {
                Ordering::Greater => next,
                Ordering::Less | Ordering::Equal => best,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(outcome: Outcome, remaining: u64, limit: u64, wait: Option<u64>) -> Decision {
        Decision {
            outcome,
            limit_index: 0,
            limit: Amount::from_units(limit),
            remaining: Amount::from_units(remaining),
            retry_after: wait.map(Span::from_secs),
            reset_after: Span::ZERO,
        }
    }

    #[test]
    fn exceeds_governs_before_deny_before_allow() {
        let allow = decision(Outcome::Allow, 0, 5, None);
        let deny = decision(Outcome::Deny, 3, 5, Some(9));
        let exceeds = decision(Outcome::Exceeds, 5, 5, None);
        assert_eq!(Decision::governing([allow, deny, exceeds]), Some(exceeds));
        assert_eq!(Decision::governing([allow, deny]), Some(deny));
    }

    #[test]
    fn the_longest_wait_governs_among_denials_and_ties_go_to_the_first() {
        let short = decision(Outcome::Deny, 0, 5, Some(1));
        let long = decision(Outcome::Deny, 4, 5, Some(2));
        let same = decision(Outcome::Deny, 1, 9, Some(2));
        assert_eq!(Decision::governing([short, long, same]), Some(long));
    }

    /// P53: a store that counts microseconds cannot tell these waits apart.
    #[test]
    fn waits_of_one_microsecond_tie_and_the_longer_is_told() {
        let nanos = |limit_index, nanos| Decision {
            limit_index,
            retry_after: Some(Span::from_nanos(nanos)),
            ..decision(Outcome::Deny, 0, 5, None)
        };
        let (first, second, third) = (nanos(0, 7_001), nanos(1, 8_000), nanos(2, 8_001));
        let told = Decision { retry_after: Some(Span::from_nanos(8_000)), ..first };
        assert_eq!(Decision::governing([first, second]), Some(told));
        assert_eq!(Decision::governing([first, second, third]), Some(third));
        let verdict = Verdict::many(Timestamp::EPOCH, vec![first, second]);
        assert_eq!(verdict.governing(), 0);
    }

    #[test]
    fn the_least_share_governs_among_allowances() {
        let roomy = decision(Outcome::Allow, 50, 100, None);
        let tight = decision(Outcome::Allow, 60, 1000, None);
        let empty = decision(Outcome::Allow, 0, 0, None);
        assert_eq!(Decision::governing([roomy, tight]), Some(tight));
        assert_eq!(Decision::governing([roomy, tight, empty]), Some(empty));
    }
}
