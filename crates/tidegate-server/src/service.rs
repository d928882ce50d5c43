//! The way of a request: from what a face understood to what the face will say.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use smallvec::SmallVec;
use tidegate::{
    Amount, Check, Cost, Decision, Key, Mode, Policy, PolicyTable, StoreError, Verdict,
};
use tokio::time::Instant;

pub use crate::backend::Joint;
pub use crate::metrics::{Face, Format, Reason};
pub use crate::readiness::Ready;

use crate::backend::Backend;
use crate::metrics::{Gauges, Metrics, PolicyCounters};
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
}

/// Decides requests: the policies, the store, and what to do without it.
pub struct Service {
    rules: ArcSwap<Rules>,
    backend: Backend,
    stance: Stance,
    metrics: Metrics,
    readiness: Readiness,
}

impl Service {
    /// A service of these policies over this store.
    #[must_use]
    pub fn new(policies: &PolicyTable, backend: Backend, stance: Stance) -> Service {
        let metrics = Metrics::new();
        Service {
            rules: ArcSwap::from_pointee(Rules::new(policies, &metrics)),
            readiness: Readiness::new(backend.is_remote()),
            backend,
            stance,
            metrics,
        }
    }

    /// The policies in force. A request holds on to them while it is decided and answered, so that
    /// it sees one configuration throughout.
    #[must_use]
    pub fn rules(&self) -> Guard<Arc<Rules>> {
        self.rules.load()
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
        let mut found = SmallVec::new();
        let mut checks: SmallVec<[Check<'_>; 1]> = SmallVec::new();
        for (place, request) in requests.iter().enumerate() {
            let rule = rules.lookup(request.policy).ok_or(Refusal::UnknownPolicy { place })?;
            checks.push(request.under(rule));
            found.push(rule);
        }
        let started = Instant::now();
        let (verdict, error) = match self.backend.take(&checks, joint).await {
            Ok(verdict) => (Some(verdict), None),
            Err(error) => (None, Some(error)),
        };
        let answers = Answers { rules: found, verdict };
        self.metrics.decided(&checks, &answers, started.elapsed());
        self.readiness.store_answered(error.as_ref());
        match error {
            None => Ok(answers),
            Some(error) => self.without_store(error, &checks, answers),
        }
    }

    /// What the stance says when the store could not answer.
    fn without_store<'a>(
        &self,
        error: StoreError,
        checks: &[Check<'_>],
        undecided: Answers<'a>,
    ) -> Result<Answers<'a>, Refusal> {
        self.metrics.undecided(error.kind(), self.stance, checks);
        match self.stance {
            Stance::Allow => Ok(undecided),
            Stance::Deny => Err(Refusal::Store(error)),
        }
    }

    /// Asks the store for nothing, to learn whether it is there.
    pub async fn probe(&self) {
        let rules = self.rules();
        let (Some(rule), Ok(key)) = (rules.first(), Key::new("tidegate.probe")) else {
            return;
        };
        let check = Check::peek(key, &rule.policy, Amount::ZERO);
        let taken = self.backend.take(&[check], Joint::All).await;
        self.readiness.store_answered(taken.as_ref().err());
    }
}

/// Why a request was not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no policy of the name that one of the requests gave.
    UnknownPolicy {
        /// Which of the requests, by its place.
        place: usize,
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

    /// The first answer: the only one when one request was asked.
    #[must_use]
    pub fn first(&self) -> Option<Answer<'a>> {
        self.iter().next()
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

    /// What is counted for this policy.
    pub(crate) fn counters(&self) -> &'a PolicyCounters {
        &self.rule.counters
    }
}

/// The policies in force, each with its counters at hand: made off the hot path, never changed, and
/// replaced whole.
pub struct Rules {
    by_name: HashMap<Box<str>, Rule>,
}

impl Rules {
    fn new(policies: &PolicyTable, metrics: &Metrics) -> Rules {
        let rule = |policy: &Arc<Policy>| Rule {
            counters: metrics.policy(policy),
            policy: Arc::clone(policy),
        };
        let named = |policy: &Arc<Policy>| (policy.name().as_str().into(), rule(policy));
        Rules { by_name: policies.iter().map(named).collect() }
    }

    /// The rule of this name, if there is one.
    fn lookup(&self, policy: &str) -> Option<&Rule> {
        self.by_name.get(policy)
    }

    /// Any rule at all.
    fn first(&self) -> Option<&Rule> {
        self.by_name.values().next()
    }
}

/// A policy and what is counted for it.
struct Rule {
    policy: Arc<Policy>,
    counters: PolicyCounters,
}
