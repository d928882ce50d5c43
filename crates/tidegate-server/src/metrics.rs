//! What the service counts, and how cheaply: numbers of each thread's own, found before the first
//! request.

mod exposition;
mod histogram;
mod sharded;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate::{Name, Policy, Span, StoreErrorKind};

pub use exposition::Format;
pub(crate) use exposition::Gauges;
use histogram::Histogram;
use sharded::Sharded;

use crate::settings::Stance;

/// A number that only grows, for what is rare.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    // Relaxed: a count stands alone; a scrape may see one of two sums a moment before the other.
    fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a check ended, as metrics tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It got what it asked for.
    Allowed,
    /// It did not, be it for another check of its call that was denied.
    Denied,
    /// The store failed.
    Errored,
}

/// One check to be counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally<'a> {
    /// Those of its policy.
    pub(crate) counters: &'a PolicyCounters,
    pub(crate) ended: Ended,
    /// The limit that governed, by its place in the policy; none when the store failed.
    pub(crate) limit: Option<usize>,
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

/// One protocol's door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// REST and JSON over HTTP.
    Rest,
    /// gRPC.
    Grpc,
}

impl Face {
    const ALL: [Face; 2] = [Face::Rest, Face::Grpc];

    const fn label(self) -> &'static str {
        match self {
            Face::Rest => "rest",
            Face::Grpc => "grpc",
        }
    }
}

/// What was wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The key is missing, empty or too long.
    Key,
    /// The cost is no amount.
    Cost,
    /// There is no such policy.
    Policy,
    /// It is not of the right form.
    Malformed,
    /// It is larger than is read.
    TooLarge,
}

impl Reason {
    const ALL: [Reason; 5] =
        [Reason::Key, Reason::Cost, Reason::Policy, Reason::Malformed, Reason::TooLarge];

    const fn label(self) -> &'static str {
        match self {
            Reason::Key => "key",
            Reason::Cost => "cost",
            Reason::Policy => "policy",
            Reason::Malformed => "malformed",
            Reason::TooLarge => "too_large",
        }
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    durations: [Histogram; Ended::ALL.len()],
    bad_requests: [[Counter; Reason::ALL.len()]; Face::ALL.len()],
    store_errors: [Counter; StoreErrorKind::ALL.len()],
    undecided: [Counter; STANCES.len()],
    /// By policy and limit. Counters outlive a change of configuration: a count never goes back.
    limits: Mutex<BTreeMap<Series, Arc<LimitCounters>>>,
}

/// A policy, and the limit that governed; none when the store failed.
type Series = (Name, Option<Name>);

/// Every stance, in the order of the counters.
const STANCES: [Stance; 2] = [Stance::Deny, Stance::Allow];

/// How often one limit governed which result.
#[derive(Debug, Default)]
struct LimitCounters(Sharded<{ Ended::ALL.len() }>);

/// The counters of one policy.
#[derive(Debug)]
pub(crate) struct PolicyCounters {
    /// One for each limit, in the policy's order.
    limits: Box<[Arc<LimitCounters>]>,
    /// For checks that no limit governed, because the store failed.
    none: Arc<LimitCounters>,
}

impl Metrics {
    /// Everything at zero.
    #[must_use]
    pub(crate) fn new() -> Metrics {
        Metrics::default()
    }

    /// The counters of a policy, which are in every scrape from now on.
    pub(crate) fn policy(&self, policy: &Policy) -> PolicyCounters {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = |limit: Option<&Name>| {
            let series = (policy.name().clone(), limit.cloned());
            Arc::clone(known.entry(series).or_default())
        };
        PolicyCounters {
            none: counters(None),
            limits: policy.limits().iter().map(|limit| counters(Some(limit.name()))).collect(),
        }
    }

    /// Counts the checks of one call, which took `elapsed` together.
    pub(crate) fn decided<'a>(&self, tallies: impl IntoIterator<Item = Tally<'a>>, elapsed: Span) {
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

    /// Counts a failure of the store that left this many checks to the stance.
    pub(crate) fn undecided(&self, kind: StoreErrorKind, stance: Stance, checks: u64) {
        if let Some(place) = StoreErrorKind::ALL.iter().position(|known| *known == kind) {
            self.store_errors[place].add(1);
        }
        self.undecided[stance as usize].add(checks);
    }

    /// Counts a request that a face refused as the client's mistake.
    pub(crate) fn bad_request(&self, face: Face, reason: Reason) {
        self.bad_requests[face as usize][reason as usize].add(1);
    }
}
