//! Algorithms by name, and the limit that a quota such as `100/minute burst 20` makes of one.

use tidegate::{Align, Amount, Limit, LimitError, Quota, Span};

/// Names of algorithms; the last two are other words for two of the first.
pub(super) const ALGORITHMS: &[(&str, Kind)] = &[
    ("token_bucket", Kind::TokenBucket),
    ("fixed_window", Kind::FixedWindow),
    ("rolling_window", Kind::RollingWindow),
    ("sliding_window", Kind::SlidingWindow),
    ("gcra", Kind::TokenBucket),
    ("sliding_log", Kind::RollingWindow),
];

/// Which algorithm a limit uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    TokenBucket,
    FixedWindow,
    RollingWindow,
    SlidingWindow,
}

impl Kind {
    /// The algorithm of this name.
    pub(crate) fn named(word: &str) -> Option<Kind> {
        ALGORITHMS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::TokenBucket => "token_bucket",
            Kind::FixedWindow => "fixed_window",
            Kind::RollingWindow => "rolling_window",
            Kind::SlidingWindow => "sliding_window",
        }
    }

    /// The fields with this algorithm's numbers.
    pub(super) fn numbers(self) -> &'static [&'static str] {
        match self {
            Kind::TokenBucket => &["capacity", "rate", "burst", "quota"],
            Kind::FixedWindow => &["max_requests", "window_size", "quota", "align"],
            Kind::RollingWindow | Kind::SlidingWindow => &["max_requests", "window_size", "quota"],
        }
    }
    /// The limit that a quota says, exactly: one that cannot be counted so is refused, whether it
    /// stands in a file or on the command line.
    pub(crate) fn limit(
        self,
        name: &str,
        quota: &Quota,
        align: Align,
    ) -> Result<Limit, QuotaFault> {
        let (max, window) = (quota.count(), quota.period());
        if quota.has_burst() && self != Kind::TokenBucket {
            return Err(QuotaFault::Burst);
        }
        let limit = match self {
            Kind::TokenBucket => Limit::token_bucket(name, quota.burst(), quota.rate()),
            _ => self.window(name, max, window, align),
        };
        limit.map_err(QuotaFault::Limit)
    }

    /// A window of this kind; a bucket has none, and is taken for a fixed one.
    pub(super) fn window(
        self,
        name: &str,
        max: Amount,
        window: Span,
        align: Align,
    ) -> Result<Limit, LimitError> {
        match (self, align) {
            (Kind::RollingWindow, _) => Limit::rolling_window(name, max, window),
            (Kind::SlidingWindow, _) => Limit::sliding_window(name, max, window),
            (_, Align::FirstRequest) => Limit::fixed_window_from_first(name, max, window),
            (_, Align::Epoch) => Limit::fixed_window(name, max, window),
        }
    }
}

/// Why a quota makes no limit.
pub(crate) enum QuotaFault {
    /// A window has a burst.
    Burst,
    /// The numbers make no limit.
    Limit(LimitError),
}
