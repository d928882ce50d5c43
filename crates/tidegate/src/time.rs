//! Time as the limiter sees it: instants and spans, both whole nanoseconds.
//!
//! All arithmetic on time in the workspace goes through these two types. It saturates: a limiter
//! that meets an absurd clock must still answer.

use std::fmt;
use std::time::Duration;

/// Nanoseconds in one microsecond.
const NANOS_PER_MICRO: u64 = 1_000;

/// An instant, in whole nanoseconds since the Unix epoch (UTC).
///
/// The range ends in the year 2554.
///
/// # Examples
///
/// ```
/// use tidegate::{Span, Timestamp};
///
/// let start = Timestamp::from_secs(100);
/// assert_eq!(start + Span::from_secs(5), Timestamp::from_secs(105));
/// assert_eq!(start.since(Timestamp::from_secs(98)), Span::from_secs(2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch itself: 1970-01-01T00:00:00Z.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The instant this many nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Timestamp {
        Timestamp(nanos)
    }

    /// The instant this many microseconds after the epoch; saturates at the end of the range.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Timestamp {
        Timestamp(micros.saturating_mul(NANOS_PER_MICRO))
    }

    /// The instant this many milliseconds after the epoch; saturates at the end of the range.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Timestamp {
        Timestamp(millis.saturating_mul(1_000_000))
    }

    /// The instant this many seconds after the epoch; saturates at the end of the range.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Timestamp {
        Timestamp(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the epoch, rounded down.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / NANOS_PER_MICRO
    }

    /// The span from `earlier` to this instant; zero when `earlier` is the later of the two.
    #[must_use]
    pub const fn since(self, earlier: Timestamp) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The latest instant at or before this one that lies a whole number of `span`s after the
    /// epoch: where a window aligned to the epoch begins. A zero `span` gives the instant itself.
    #[must_use]
    pub const fn floor_to(self, span: Span) -> Timestamp {
        match self.0.checked_rem(span.0) {
            Some(past) => Timestamp(self.0 - past),
            None => self,
        }
    }
}

impl std::ops::Add<Span> for Timestamp {
    type Output = Timestamp;

    fn add(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }
}

impl std::ops::Sub<Span> for Timestamp {
    type Output = Timestamp;

    fn sub(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(span.0))
    }
}

/// A length of time, in whole nanoseconds, never negative.
///
/// # Examples
///
/// ```
/// use tidegate::Span;
///
/// assert_eq!(Span::from_millis(1_500).as_secs_ceil(), 2);
/// assert_eq!(Span::from_nanos(1).as_millis_ceil(), 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest span there is, about 584 years.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of this many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Span {
        Span(nanos)
    }

    /// A span of this many microseconds; saturates at [`Span::MAX`].
    #[must_use]
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros.saturating_mul(NANOS_PER_MICRO))
    }

    /// A span of this many milliseconds; saturates at [`Span::MAX`].
    #[must_use]
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis.saturating_mul(1_000_000))
    }

    /// A span of this many seconds; saturates at [`Span::MAX`].
    #[must_use]
    pub const fn from_secs(secs: u64) -> Span {
        Span(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds in this span.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Microseconds in this span, rounded up.
    #[must_use]
    pub const fn as_micros_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_MICRO)
    }

    /// Milliseconds in this span, rounded up.
    #[must_use]
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Seconds in this span, rounded up.
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000_000)
    }

    /// Whether this is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::Add for Span {
    type Output = Span;

    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl std::ops::Sub for Span {
    type Output = Span;

    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl From<Duration> for Span {
    /// Saturates at [`Span::MAX`].
    fn from(duration: Duration) -> Span {
        Span(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Units that [`Span`]'s text uses, longest first.
const UNITS: [(u64, &str); 7] = [
    (86_400_000_000_000, "d"),
    (3_600_000_000_000, "h"),
    (60_000_000_000, "min"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
    (1, "ns"),
];

impl fmt::Display for Span {
    /// Writes whole units, longest first: `1d`, `1min 40s`, `1s 500ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        let mut gap = "";
        for (nanos, unit) in UNITS {
            if rest >= nanos {
                write!(f, "{gap}{}{unit}", rest / nanos)?;
                rest %= nanos;
                gap = " ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_people_write_them() {
        assert_eq!(Span::from_secs(86_400).to_string(), "1d");
        assert_eq!(Span::from_secs(100).to_string(), "1min 40s");
        assert_eq!(Span::from_millis(1_500).to_string(), "1s 500ms");
        assert_eq!(Span::ZERO.to_string(), "0s");
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Timestamp::EPOCH - Span::from_secs(1), Timestamp::EPOCH);
        assert_eq!(Timestamp::from_secs(u64::MAX) + Span::MAX, Timestamp::from_nanos(u64::MAX));
        assert_eq!(Timestamp::EPOCH.since(Timestamp::from_secs(1)), Span::ZERO);
    }

    #[test]
    fn waits_round_up_and_never_down() {
        assert_eq!(Span::from_nanos(1_000_000_001).as_secs_ceil(), 2);
        assert_eq!(Span::from_nanos(999).as_micros_ceil(), 1);
        assert_eq!(Span::ZERO.as_secs_ceil(), 0);
    }
}
