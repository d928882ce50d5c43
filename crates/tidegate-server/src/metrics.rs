//! What the service counts: decisions, as every user of the library may (`tidegate-metrics`), and what
//! only a service has.

mod exposition;

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate::{Policy, Span, StoreErrorKind};
use tidegate_metrics::{Decisions, StoreErrors};

pub(crate) use exposition::Gauges;
pub use tidegate_metrics::Format;
pub(crate) use tidegate_metrics::{Ended, PolicyCounters, Tally};

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
    decisions: Decisions,
    store_errors: StoreErrors,
    bad_requests: [[Counter; Reason::ALL.len()]; Face::ALL.len()],
}

impl Metrics {
    /// Everything at zero.
    #[must_use]
    pub(crate) fn new() -> Metrics {
        Metrics::default()
    }

    /// The counters of a policy, which are in every scrape from now on.
    pub(crate) fn policy(&self, policy: &Policy) -> PolicyCounters {
        self.decisions.policy(policy)
    }

    /// Counts the checks of one call, which took `elapsed` together.
    #[inline]
    pub(crate) fn decided<'a>(&self, tallies: impl IntoIterator<Item = Tally<'a>>, elapsed: Span) {
        self.decisions.count(tallies, elapsed);
    }

    /// Counts a failure of the store that left this many checks to the stance.
    pub(crate) fn undecided(&self, kind: StoreErrorKind, stance: Stance, checks: u64) {
        self.store_errors.count(kind);
        self.store_errors.degraded(stance == Stance::Allow, checks);
    }

    /// Counts a request that a face refused as the client's mistake.
    pub(crate) fn bad_request(&self, face: Face, reason: Reason) {
        self.bad_requests[face as usize][reason as usize].add(1);
    }
}
