//! The way of a request: from what a face understood to what the face will say.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate::{
    Amount, Check, Clock, Cost, Decision, Key, Mode, Policy, PolicyTable, StoreError,
    StoreErrorKind, SystemClock, Verdict,
};

pub use crate::backend::Joint;
pub use crate::metrics::{Face, Format, Reason};
pub use crate::readiness::Ready;

use crate::backend::Backend;
use crate::metrics::{Ended, Gauges, Metrics, PolicyCounters, Tally};
use crate::readiness::Readiness;
use crate::settings::Stance;

/// One question, as a face understood it.
#[derive(Clone, Copy, Debug)]
pub struct CheckRequest<'a> {
    /// Who asks.
    pub key: Key<'a>,
    /// The name of the policy that decides.
    pub policy: &'a str,
    /// How much is asked.
    pub cost: Cost,
    /// What happens to the state.
    pub mode: Mode,
}

impl<'a> CheckRequest<'a> {
    /// The store's question, under the policy that was found for it.
    fn under(&self, rule: &'a Rule) -> Check<'a> {
        // A cost of zero only looks, whatever the mode.
        let mode = if self.cost.is_zero() { Mode::Peek } else { self.mode };
        Check { key: self.key, policy: &rule.policy, cost: self.cost, mode }
    }

    /// The refusal of this request, in its place among those of its call, for want of its policy.
    fn unknown(&self, place: usize) -> Refusal {
        Refusal::UnknownPolicy { place, name: self.policy.to_owned() }
    }
}

/// Decides requests: the policies, the store, and what to do without it.
pub struct Service {
    rules: Rules,
    backend: Backend,
    stance: Stance,
    metrics: Metrics,
    /// What decisions are timed by; it decides nothing. Reading it is cheap.
    clock: SystemClock,
    readiness: Readiness,
}

impl Service {
    /// A service of these policies over this store.
    #[must_use]
    pub fn new(policies: &PolicyTable, backend: Backend, stance: Stance) -> Service {
        let metrics = Metrics::new();
        Service {
            rules: Rules::new(policies, &metrics),
            readiness: Readiness::new(backend.is_remote()),
            backend,
            stance,
            metrics,
            clock: SystemClock::new(),
        }
    }

    /// The policies in force. A request is decided and answered by one set of them throughout.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Counts a request that a face refused as the client's mistake.
    pub(crate) fn mistaken(&self, face: Face, reason: Reason) {
        self.metrics.bad_request(face, reason);
    }

    /// Everything that is counted, written for a scrape.
    #[must_use]
    pub fn scrape(&self, format: Format) -> String {
        let gauges = Gauges { keys: self.backend.keys(), overflowed: self.backend.overflowed() };
        self.metrics.write(format, gauges)
    }

    /// Whether the service is ready, and why not.
    #[must_use]
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Whether the store is somewhere else, and can be away.
    #[must_use]
    pub fn is_store_remote(&self) -> bool {
        self.backend.is_remote()
    }

    /// Decides the requests of one call together: finds their policies, asks the store, counts, and
    /// takes the configured stance when the store cannot answer.
    ///
    /// # Errors
    ///
    /// [`Refusal`] when a request names no policy, before anything is asked of the store; or when
    /// the store failed and the stance is to deny.
    pub async fn decide<'a>(
        &self,
        rules: &'a Rules,
        requests: &[CheckRequest<'a>],
        joint: Joint,
    ) -> Result<Answers<'a>, Refusal> {
        let mut found = SmallVec::with_capacity(requests.len());
        let mut checks: SmallVec<[Check<'_>; 1]> = SmallVec::with_capacity(requests.len());
        for (place, request) in requests.iter().enumerate() {
            let rule = rules.lookup(request.policy).ok_or_else(|| request.unknown(place))?;
            checks.push(request.under(rule));
            found.push(rule);
        }
        let verdict = self.ask(&checks, &found, joint).await?;
        Ok(Answers { rules: found, verdict })
    }

    /// Decides one request, as [`decide`](Service::decide) does several.
    ///
    /// # Errors
    ///
    /// [`Refusal`], for the same reasons.
    pub async fn decide_one<'a>(
        &self,
        rules: &'a Rules,
        request: CheckRequest<'a>,
    ) -> Result<Answer<'a>, Refusal> {
        let rule = rules.lookup(request.policy).ok_or_else(|| request.unknown(0))?;
        let verdict = self.ask(&[request.under(rule)], &[rule], Joint::All).await?;
        let decision = verdict.and_then(|verdict| verdict.decisions().first().copied());
        Ok(Answer { rule, decision })
    }

    /// Asks the store, counts what it said, and takes the stance when it could not say it: none.
    async fn ask(
        &self,
        checks: &[Check<'_>],
        rules: &[&Rule],
        joint: Joint,
    ) -> Result<Option<Verdict>, Refusal> {
        let started = self.clock.now();
        let taken =
            self.backend.take(checks, joint).await.and_then(|verdict| whole(verdict, checks));
        let verdict = taken.as_ref().ok();
        let elapsed = self.clock.now().since(started);
        self.metrics.decided(tallies(checks, rules, joint, verdict), elapsed);
        self.readiness.store_answered(taken.as_ref().err());
        match taken {
            Ok(verdict) => Ok(Some(verdict)),
            Err(error) => self.without_store(error, checks),
        }
    }

    /// What the stance says when the store could not answer.
    fn without_store(
        &self,
        error: StoreError,
        checks: &[Check<'_>],
    ) -> Result<Option<Verdict>, Refusal> {
        let counted = checks.iter().filter(|check| check.mode != Mode::Peek).count();
        self.metrics.undecided(error.kind(), self.stance, counted as u64);
        match self.stance {
            Stance::Allow => Ok(None),
            Stance::Deny => Err(Refusal::Store(error)),
        }
    }

    /// Asks the store for nothing, to learn whether it is there.
    pub async fn probe(&self) {
        let (Some(rule), Ok(key)) = (self.rules.first(), Key::new("tidegate.probe")) else {
            return;
        };
        let check = Check::peek(key, &rule.policy, Amount::ZERO);
        let taken = self.backend.take(&[check], Joint::All).await;
        self.readiness.store_answered(taken.as_ref().err());
    }
}

/// The verdict, when it has a decision for each check. One that has not is a failure of the store.
fn whole(verdict: Verdict, checks: &[Check<'_>]) -> Result<Verdict, StoreError> {
    let (asked, decided) = (checks.len(), verdict.decisions().len());
    if asked == decided {
        return Ok(verdict);
    }
    let message = format!("{decided} decisions on {asked} checks");
    Err(StoreError::new(StoreErrorKind::Protocol, message))
}

/// What is counted of these checks: not those that only look; and as denied those that would have
/// passed but took nothing, because another check of an all-or-nothing call was denied.
fn tallies<'a>(
    checks: &'a [Check<'_>],
    rules: &'a [&Rule],
    joint: Joint,
    verdict: Option<&'a Verdict>,
) -> impl Iterator<Item = Tally<'a>> {
    let decisions = verdict.map_or(&[][..], Verdict::decisions);
    // A debit or a look that is denied keeps nobody from taking.
    let denied = |(check, decision): (&Check<'_>, &Decision)| {
        check.mode == Mode::Take && !decision.is_allowed()
    };
    let is_void = joint == Joint::All && checks.iter().zip(decisions).any(denied);
    let counted =
        checks.iter().zip(rules).enumerate().filter(|(_, (check, _))| check.mode != Mode::Peek);
    counted.map(move |(place, (check, rule))| {
        let decision = decisions.get(place);
        let ended = match decision {
            None => Ended::Errored,
            // A debit is charged whatever becomes of the others.
            Some(_) if is_void && check.mode == Mode::Take => Ended::Denied,
            Some(decision) if decision.is_allowed() => Ended::Allowed,
            Some(_) => Ended::Denied,
        };
        Tally {
            counters: &rule.counters,
            ended,
            limit: decision.map(|decision| decision.limit_index),
        }
    })
}

/// Why a request was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no policy of the name that one of the requests gave.
    UnknownPolicy {
        /// Which of the requests, by its place.
        place: usize,
        /// The name it gave.
        name: String,
    },
    /// The store could not answer.
    Store(StoreError),
}

/// What was decided about the requests of one call: an answer for each, in order.
pub struct Answers<'a> {
    rules: SmallVec<[&'a Rule; 1]>,
    verdict: Option<Verdict>,
}

impl<'a> Answers<'a> {
    /// Whether every request is allowed.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict.as_ref().is_none_or(Verdict::is_allowed)
    }

    /// Which of the answers governs, by its place.
    #[must_use]
    pub fn governing(&self) -> usize {
        self.verdict.as_ref().map_or(0, Verdict::governing)
    }

    /// Each answer, in the order of the requests.
    pub fn iter(&self) -> impl Iterator<Item = Answer<'a>> + '_ {
        let decisions = self.verdict.as_ref().map_or(&[][..], Verdict::decisions);
        self.rules
            .iter()
            .enumerate()
            .map(|(place, rule)| Answer { rule, decision: decisions.get(place).copied() })
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no answers, because nothing was asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// The answer to one request.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    rule: &'a Rule,
    /// What the store decided; none when it failed and the request is let through.
    pub decision: Option<Decision>,
}

impl<'a> Answer<'a> {
    /// The policy that was asked.
    #[must_use]
    pub fn policy(&self) -> &'a Policy {
        &self.rule.policy
    }

    /// The name of the limit that governs; empty when the store failed.
    #[must_use]
    pub fn limit_name(&self) -> &'a str {
        let index = self.decision.map(|decision| decision.limit_index);
        let limit = index.and_then(|index| self.policy().limits().get(index));
        limit.map_or("", |limit| limit.name().as_str())
    }
}

/// The policies in force, each with its counters at hand, so that counting a decision looks nothing up:
/// made off the hot path, and never changed.
pub struct Rules {
    /// In the order of their policies' names. Most services have one policy or a few, and comparing
    /// a few names takes less time than hashing one.
    by_name: Box<[Rule]>,
}

impl Rules {
    fn new(policies: &PolicyTable, metrics: &Metrics) -> Rules {
        let rule = |policy: &Arc<Policy>| Rule {
            counters: metrics.policy(policy),
            policy: Arc::clone(policy),
        };
        let mut by_name: Box<[Rule]> = policies.iter().map(rule).collect();
        by_name.sort_by(|a, b| a.policy.name().cmp(b.policy.name()));
        Rules { by_name }
    }

    /// The rule of this name, if there is one.
    #[inline]
    fn lookup(&self, policy: &str) -> Option<&Rule> {
        let place = self.by_name.binary_search_by(|rule| rule.policy.name().as_str().cmp(policy));
        self.by_name.get(place.ok()?)
    }

    /// Any rule at all.
    fn first(&self) -> Option<&Rule> {
        self.by_name.first()
    }
}

/// A policy and what is counted for it.
struct Rule {
    policy: Arc<Policy>,
    counters: PolicyCounters,
}

#[cfg(test)]
mod tests {
    use tidegate::{Limit, Timestamp};

    use super::*;

    #[test]
    fn a_verdict_that_is_not_whole_is_the_stores_failure() {
        let limit = Limit::quota("only", "1/s").expect("a limit");
        let policy = Policy::new("default", [limit]).expect("a policy");
        let check = Check::take(Key::new("a").expect("a key"), &policy, Cost::ONE);
        let nothing = Verdict::many(Timestamp::from_secs(1), Vec::new());
        let error = whole(nothing.clone(), &[check]).expect_err("a decision is missing");
        assert_eq!(error.kind(), StoreErrorKind::Protocol);
        assert_eq!(whole(nothing.clone(), &[]), Ok(nothing));
    }
}
