//! Decisions, by how they ended, how long they took, and which limit governed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate::{Name, Policy, Span};

use crate::histogram::Histogram;
use crate::page::Page;
use crate::sharded::Sharded;

/// How a check ended, as metrics tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It got what it asked for.
    Allowed,
    /// It did not, be it for another check of its call that was denied.
    Denied,
    /// The store failed.
    Errored,
}

impl Ended {
    const ALL: [Ended; 3] = [Ended::Allowed, Ended::Denied, Ended::Errored];

    const fn label(self) -> &'static str {
        match self {
            Ended::Allowed => "allowed",
            Ended::Denied => "denied",
            Ended::Errored => "errored",
        }
    }
}

/// One check to be counted.
#[derive(Clone, Copy, Debug)]
pub struct Tally<'a> {
    /// Those of its policy.
    pub counters: &'a PolicyCounters,
    /// How it ended.
    pub ended: Ended,
    /// The limit that governed, by its place in the policy; none when the store failed.
    pub limit: Option<usize>,
}

/// A policy, and the limit that governed; none when the store failed.
type Series = (Name, Option<Name>);

/// How often one limit governed which result.
#[derive(Debug, Default)]
pub(crate) struct LimitCounters(Sharded<{ Ended::ALL.len() }>);

/// The counters of one policy, found before the first request.
#[derive(Debug)]
pub struct PolicyCounters {
    /// One for each limit, in the policy's order.
    limits: Box<[Arc<LimitCounters>]>,
    /// For checks that no limit governed, because the store failed.
    none: Arc<LimitCounters>,
}

/// Everything that is counted of decisions.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Policy, Span};
/// use tidegate_metrics::{Decisions, Ended, Format, Page, Tally};
///
/// let decisions = Decisions::default();
/// let counters = decisions.policy(&Policy::new("api", [Limit::quota("burst", "5/s")?])?);
/// let tally = Tally { counters: &counters, ended: Ended::Allowed, limit: Some(0) };
/// decisions.count([tally], Span::from_micros(3));
/// let mut page = Page::new(Format::Text);
/// decisions.write(&mut page);
/// assert!(page.finish().contains("ratelimiter_decisions_total{result=\"allowed\"} 1\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Decisions {
    durations: [Histogram; Ended::ALL.len()],
    /// By policy and limit. Counters outlive a change of configuration: a count never goes back.
    limits: Mutex<BTreeMap<Series, Arc<LimitCounters>>>,
}

impl Decisions {
    /// The counters of a policy, which are on every page from now on.
    pub fn policy(&self, policy: &Policy) -> PolicyCounters {
        let counters = |limit: Option<&Name>| self.series(policy.name(), limit);
        PolicyCounters {
            none: counters(None),
            limits: policy.limits().iter().map(|limit| counters(Some(limit.name()))).collect(),
        }
    }

    /// The counters of one limit, which are on every page from now on.
    pub(crate) fn series(&self, policy: &Name, limit: Option<&Name>) -> Arc<LimitCounters> {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry((policy.clone(), limit.cloned())).or_default())
    }

    /// Counts the checks of one call, which took `elapsed` together.
    pub fn count<'a>(&self, tallies: impl IntoIterator<Item = Tally<'a>>, elapsed: Span) {
        let mut ended = [0_u64; Ended::ALL.len()];
        for Tally { counters, ended: how, limit } in tallies {
            let limit = limit.and_then(|place| counters.limits.get(place));
            limit.unwrap_or(&counters.none).0.add([(how as usize, 1)]);
            ended[how as usize] += 1;
        }
        for (durations, count) in self.durations.iter().zip(ended) {
            durations.observe(elapsed, count);
        }
    }

    /// Counts one check.
    pub(crate) fn count_one(&self, counters: &LimitCounters, how: Ended, elapsed: Span) {
        counters.0.add([(how as usize, 1)]);
        self.durations[how as usize].observe(elapsed, 1);
    }

    /// Writes them.
    pub fn write(&self, page: &mut Page) {
        let help =
            "Checks decided, by result; what a denied all-or-nothing call did not take is denied.";
        page.counter("ratelimiter_decisions", help);
        for how in Ended::ALL {
            let [.., count] = self.durations[how as usize].cumulative();
            page.sample("ratelimiter_decisions_total", &[("result", how.label())], count);
        }
        let help = "Time to decide the call that a check came in, by result.";
        page.family("ratelimiter_decision_duration_seconds", "histogram", help);
        for how in Ended::ALL {
            page.histogram(&self.durations[how as usize], ("result", how.label()));
        }
        self.write_policies(page);
    }

    fn write_policies(&self, page: &mut Page) {
        let help = "Checks decided, by policy, governing limit and result.";
        page.counter("ratelimiter_policy_decisions", help);
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        for ((policy, limit), counters) in limits.iter() {
            for how in Ended::ALL {
                // A check has no governing limit exactly when it errored.
                if limit.is_none() != (how == Ended::Errored) {
                    continue;
                }
                let labels = [
                    ("policy", policy.as_str()),
                    ("limit", limit.as_ref().map_or("", |limit| limit.as_str())),
                    ("result", how.label()),
                ];
                let count = counters.0.sum(how as usize);
                page.sample("ratelimiter_policy_decisions_total", &labels, count);
            }
        }
    }
}
