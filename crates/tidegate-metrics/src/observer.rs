//! An observer that counts for Prometheus.

use std::sync::{Arc, OnceLock};

use tidegate::{Limit, Name, Observer, Outcome, Policy, Span, StoreError};

use crate::decisions::{Decisions, Ended, LimitCounters};
use crate::index::Index;
use crate::page::{Format, Page};
use crate::store_errors::StoreErrors;

/// The policy under which is counted what came after too many others.
const OTHERS: &str = "others";

/// Counts decisions, and writes them for Prometheus.
///
/// It tells 200 pairs of a policy and a limit apart, and some more; what comes after them is counted as
/// of one policy `others`, so that a page stays small whatever a program makes up.
///
/// # Examples
///
/// An endpoint of axum, say, is then no more than this:
///
/// ```
/// use tidegate_metrics::{Format, PrometheusObserver};
///
/// fn metrics(observer: &PrometheusObserver, accept: &str) -> (&'static str, String) {
///     let format = Format::accepted_by(accept);
///     (format.content_type(), observer.write(format))
/// }
///
/// let (content_type, page) = metrics(&PrometheusObserver::new(), "text/plain");
/// assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8");
/// assert!(page.starts_with("# HELP ratelimiter_decisions_total"));
/// ```
#[derive(Debug, Default)]
pub struct PrometheusObserver {
    decisions: Decisions,
    index: Index,
    /// Of governed checks, and of those that no limit governed.
    others: [OnceLock<Arc<LimitCounters>>; 2],
    store_errors: StoreErrors,
}

impl PrometheusObserver {
    /// An observer that has seen nothing.
    #[must_use]
    pub fn new() -> PrometheusObserver {
        PrometheusObserver::default()
    }

    /// Has every series of this policy on the page from the start, at zero.
    #[must_use]
    pub fn with_policy(self, policy: &Policy) -> PrometheusObserver {
        for limit in policy.limits() {
            self.counters(policy, Some(limit.name()));
        }
        self.counters(policy, None);
        self
    }

    /// Everything that was counted, for a scrape.
    #[must_use]
    pub fn write(&self, format: Format) -> String {
        let mut page = Page::new(format);
        self.decisions.write(&mut page);
        self.store_errors.write(&mut page);
        page.finish()
    }

    fn counters(&self, policy: &Policy, limit: Option<&Name>) -> Option<&LimitCounters> {
        let name = policy.name();
        let known = self.index.find(name, limit, || self.decisions.series(name, limit));
        known.or_else(|| self.others(limit.is_some()))
    }

    /// Those of all that is not told apart.
    fn others(&self, is_governed: bool) -> Option<&LimitCounters> {
        let name = Name::new(OTHERS).ok()?;
        let limit = is_governed.then_some(&name);
        let [governed, errored] = &self.others;
        let others = if is_governed { governed } else { errored };
        Some(others.get_or_init(|| self.decisions.series(&name, limit)))
    }
}

impl Observer for PrometheusObserver {
    fn decision(
        &self,
        policy: &Policy,
        limit: Option<&Limit>,
        outcome: Result<Outcome, &StoreError>,
        elapsed: Span,
    ) {
        let ended = match outcome {
            Ok(Outcome::Allow) => Ended::Allowed,
            Ok(Outcome::Deny | Outcome::Exceeds) => Ended::Denied,
            Err(_) => Ended::Errored,
        };
        if let Some(counters) = self.counters(policy, limit.map(Limit::name)) {
            self.decisions.count_one(counters, ended, elapsed);
        }
    }

    fn store_failed(&self, error: &StoreError) {
        self.store_errors.count(error.kind());
    }

    fn degraded(&self, let_through: bool, checks: u64) {
        self.store_errors.degraded(let_through, checks);
    }
}
