//! Limits and times as people write them: `100/minute`, `5 per second`, `10/7s burst 20`, `1d`.

use std::str::FromStr;

use crate::amount::{Amount, Decimal, Rate};
use crate::time::Span;

/// Every unit of time and its nanoseconds. A month is 30 days, a year 365.
const UNITS: [(&[&str], u64); 10] = [
    (&["ns", "nanosecond"], 1),
    (&["us", "microsecond"], 1_000),
    (&["ms", "millisecond"], 1_000_000),
    (&["s", "sec", "second"], 1_000_000_000),
    (&["m", "min", "minute"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "week"], 604_800_000_000_000),
    (&["month"], 2_592_000_000_000_000),
    (&["y", "year"], 31_536_000_000_000_000),
];

/// So many units per period, with room for a burst.
///
/// Written `COUNT/PERIOD` or `COUNT per PERIOD`, then optionally `burst SIZE`; the period is a unit
/// of time with or without a number before it. `COUNT-S`, `-M`, `-H` and `-D` are accepted too.
/// Case does not matter.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Quota, Span};
///
/// let quota: Quota = "10/7s burst 20".parse()?;
/// assert_eq!(quota.count(), Amount::from_units(10));
/// assert_eq!(quota.period(), Span::from_secs(7));
/// assert_eq!(quota.burst(), Amount::from_units(20));
/// # Ok::<(), tidegate::NotationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    count: Amount,
    period: Span,
    burst: Option<Amount>,
    rate: Rate,
}

impl Quota {
    /// Units per period.
    #[must_use]
    pub fn count(&self) -> Amount {
        self.count
    }

    /// The period.
    #[must_use]
    pub fn period(&self) -> Span {
        self.period
    }

    /// The most at once: what `burst` says, else the count.
    #[must_use]
    pub fn burst(&self) -> Amount {
        self.burst.unwrap_or(self.count)
    }

    /// Whether the text said `burst`.
    #[must_use]
    pub fn has_burst(&self) -> bool {
        self.burst.is_some()
    }

    /// Count over period.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Several quotas, separated by `,`, `;` or `|`.
    ///
    /// # Errors
    ///
    /// [`NotationError`] for the first that is none.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::Quota;
    ///
    /// assert_eq!(Quota::parse_list("100/hour; 5/s")?.len(), 2);
    /// # Ok::<(), tidegate::NotationError>(())
    /// ```
    pub fn parse_list(text: &str) -> Result<Vec<Quota>, NotationError> {
        text.split([',', ';', '|']).map(str::parse).collect()
    }
}

impl FromStr for Quota {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Quota, NotationError> {
        let refuse = || NotationError::Quota { text: shortened(text) };
        let lower = text.trim().to_ascii_lowercase();
        let (quota, burst) = match lower.split_once("burst") {
            Some((quota, burst)) => (quota.trim_end(), Some(burst.trim())),
            None => (lower.as_str(), None),
        };
        let burst = burst.map(str::parse).transpose().map_err(|_| refuse())?;
        let (count, period) = split_quota(quota).ok_or_else(refuse)?;
        let count: Amount = count.trim().parse().map_err(|_| refuse())?;
        let (period, exact) = read_span(period).map_err(|_| refuse())?;
        // A rate is exact or refused: a period rounded to nanoseconds would be another rate.
        if !exact {
            return Err(NotationError::Finer { text: shortened(text) });
        }
        if count.is_zero() || burst.is_some_and(Amount::is_zero) {
            return Err(NotationError::Zero { text: shortened(text) });
        }
        let rate = Rate::per(count, period).ok_or_else(refuse)?;
        Ok(Quota { count, period, burst, rate })
    }
}

/// Splits a quota into its count and its period.
fn split_quota(quota: &str) -> Option<(&str, &str)> {
    if let Some((count, unit)) = quota.split_once('-') {
        let period = match unit {
            "s" => "second",
            "m" => "minute",
            "h" => "hour",
            "d" => "day",
            _ => return None,
        };
        return count.bytes().all(|byte| byte.is_ascii_digit()).then_some((count, period));
    }
    let (count, period) = quota.split_once('/').or_else(|| quota.split_once(" per "))?;
    let named = !period.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    named.then_some((count, period.trim()))
}

/// Reads a length of time: `1d`, `500ms`, `2 hours`, `1h 30min`, `minute`, or bare seconds.
///
/// Finer than a nanosecond rounds up. A month is 30 days, a year 365. `m` is a minute.
///
/// # Errors
///
/// [`NotationError`] when the text is no length of time, is zero, or is beyond 584 years.
///
/// # Examples
///
/// ```
/// use tidegate::{Span, parse_span};
///
/// assert_eq!(parse_span("1h 30min")?, Span::from_secs(5_400));
/// assert_eq!(parse_span("0.5")?, Span::from_millis(500));
/// # Ok::<(), tidegate::NotationError>(())
/// ```
pub fn parse_span(text: &str) -> Result<Span, NotationError> {
    read_span(text).map(|(span, _)| span)
}

/// Reads a length of time, and says whether it is one of whole nanoseconds.
fn read_span(text: &str) -> Result<(Span, bool), NotationError> {
    let refuse = || NotationError::Span { text: shortened(text) };
    let lower = text.trim().to_ascii_lowercase();
    let mut rest = lower.as_str();
    let (mut total, mut exact) = (Span::ZERO, true);
    while !rest.is_empty() {
        let (part, whole, after) = parse_part(rest, total.is_zero()).ok_or_else(refuse)?;
        total = total + part;
        exact &= whole;
        rest = after.trim_start();
    }
    match total {
        Span::ZERO if lower.is_empty() => Err(refuse()),
        Span::ZERO => Err(NotationError::Zero { text: shortened(text) }),
        Span::MAX => Err(refuse()),
        total => Ok((total, exact)),
    }
}

/// Reads one number with its unit, says whether it is one of whole nanoseconds, and gives what
/// follows it. A number or a unit may stand alone only when it is the whole text.
fn parse_part(text: &str, first: bool) -> Option<(Span, bool, &str)> {
    let number_end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, after) = text.split_at(number_end);
    let after = after.trim_start();
    let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    let (unit, after) = after.split_at(unit_end);
    let whole = first && after.is_empty();
    if (number.is_empty() || unit.is_empty()) && !whole {
        return None;
    }
    let nanos = match unit {
        "" if number.is_empty() => return None,
        "" => 1_000_000_000,
        unit => unit_nanos(unit)?,
    };
    let number = if number.is_empty() { "1" } else { number };
    let (num, den) = Decimal::parse(number).ok()?.fraction(0)?;
    let nanos = num.checked_mul(u128::from(nanos))?;
    let span = Span::from_nanos(u64::try_from(nanos.div_ceil(den)).unwrap_or(u64::MAX));
    Some((span, nanos.is_multiple_of(den), after))
}

/// Nanoseconds of a unit's name, singular or plural.
fn unit_nanos(unit: &str) -> Option<u64> {
    let matches =
        |name: &str| unit == name || (name.len() > 2 && unit.strip_suffix('s') == Some(name));
    UNITS.iter().find(|(names, _)| names.iter().any(|name| matches(name))).map(|(_, nanos)| *nanos)
}

/// A text cut to a length that an error can show.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Why a text says no quota or length of time.
///
/// # Examples
///
/// ```
/// use tidegate::{NotationError, Quota};
///
/// assert!(matches!("0/s".parse::<Quota>(), Err(NotationError::Zero { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// The text is no quota.
    #[error("{text:?} is no rate; write it like 100/minute, 5 per second or 10/7s burst 20")]
    Quota {
        /// The text, shortened.
        text: String,
    },
    /// The text is no length of time.
    #[error("{text:?} is no length of time; write it like 500ms, 30s, 5min, 1h or 1d")]
    Span {
        /// The text, shortened.
        text: String,
    },
    /// The period of a quota is not one of whole nanoseconds.
    #[error("{text:?} has a period that is not whole nanoseconds; write it over a longer one")]
    Finer {
        /// The text, shortened.
        text: String,
    },
    /// A number in it is zero.
    #[error("{text:?} holds a zero; it must be above 0")]
    Zero {
        /// The text, shortened.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(text: &str) -> (u64, u64, u64) {
        let quota: Quota = text.parse().expect(text);
        let secs = quota.period().as_secs_ceil();
        (quota.count().whole_units(), secs, quota.burst().whole_units())
    }

    #[test]
    fn quotas_are_read_as_people_write_them() {
        assert_eq!(quota("100/minute"), (100, 60, 100));
        assert_eq!(quota("5 per second"), (5, 1, 5));
        assert_eq!(quota("10/7s burst 20"), (10, 7, 20));
        assert_eq!(quota("1 per 2 HOURS"), (1, 7_200, 1));
        assert_eq!(quota("3/month"), (3, 2_592_000, 3));
        assert_eq!(quota("2000-D"), (2_000, 86_400, 2_000));
    }

    #[test]
    fn what_is_no_quota_is_refused() {
        for text in [
            "",
            "10",
            "per second",
            "10/",
            "/s",
            "10/0s",
            "0/s",
            "-1/s",
            "10/parsec",
            "10 S",
            "10:S",
            "H-10",
            "10/5",
            "1/s burst",
            "1/s burst 0",
            "1/s burst x",
            "1/s extra",
            "1/s/s",
        ] {
            assert!(text.parse::<Quota>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_period_is_exact_or_refused() {
        for text in ["1/1.5ns", "1/0.0000000001s", "1/0.1ns"] {
            let error = text.parse::<Quota>();
            assert!(matches!(error, Err(NotationError::Finer { .. })), "{text}: {error:?}");
        }
        assert_eq!(parse_span("1.5ns"), Ok(Span::from_nanos(2)));
    }

    #[test]
    fn spans_take_one_unit_or_several() {
        assert_eq!(parse_span("100"), Ok(Span::from_secs(100)));
        assert_eq!(parse_span("1.5s"), Ok(Span::from_millis(1_500)));
        assert_eq!(parse_span("1h30min"), Ok(Span::from_secs(5_400)));
        assert_eq!(parse_span("2 weeks"), Ok(Span::from_secs(1_209_600)));
        for text in ["", "s5", "1x", "5 5", "1e3", "-1s", "1h 5", "99999999999999y"] {
            assert!(parse_span(text).is_err(), "{text:?}");
        }
        assert_eq!(parse_span("0s"), Err(NotationError::Zero { text: "0s".into() }));
    }
}
