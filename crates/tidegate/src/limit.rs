//! A limit: a name, an algorithm and its numbers, checked once when it is made.

use crate::algorithm::Rule;
use crate::amount::{Amount, MICROS_PER_UNIT, Rate};
use crate::name::{Name, NameError};
use crate::notation::{NotationError, Quota};
use crate::time::Span;

/// Every product of a limit's numbers stays below this: where Lua's doubles stop counting by one.
/// In memory, where time is counted a thousand times finer, the same products stay below 2^63.
const DOMAIN: u128 = 1 << 53;

/// Shortest and longest window, and the bounds of a minimum interval.
const WINDOW_MIN: Span = Span::from_millis(1);
const WINDOW_MAX: Span = Span::from_secs(10 * 365 * 86_400);

/// Slowest rate, one a year, as the microseconds that one unit takes; the fastest is 1e9 a second.
const SLOWEST_MICROS_PER_UNIT: u128 = 365 * 86_400 * 1_000_000;
const FASTEST_UNITS_PER_SECOND: u128 = 1_000_000_000;

/// How a limit counts.
///
/// Times are [`Span`]s, amounts are [`Amount`]s.
///
/// # Examples
///
/// ```
/// use tidegate::{Algorithm, Amount, Limit, Span};
///
/// let limit = Limit::rolling_window("exact", Amount::from_units(5), Span::from_secs(10))?;
/// let expected = Algorithm::RollingWindow { max: Amount::from_units(5), window: Span::from_secs(10) };
/// assert_eq!(*limit.algorithm(), expected);
/// assert_eq!(limit.algorithm().name(), "rolling_window");
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// A bucket that starts full and refills continuously.
    TokenBucket {
        /// The most it holds.
        capacity: Amount,
        /// How fast it refills.
        rate: Rate,
    },
    /// A count that starts again with each window.
    FixedWindow {
        /// The most in one window.
        max: Amount,
        /// The length of a window.
        window: Span,
        /// Where windows begin.
        align: Align,
    },
    /// An exact log: at most `max` in any `window`. What is exactly one window old no longer counts.
    RollingWindow {
        /// The most in any window.
        max: Amount,
        /// The length of the window.
        window: Span,
    },
    /// Two counters: the previous window's count, weighed by how much of it the sliding window still
    /// covers and floored to whole units, plus the current one's.
    SlidingWindow {
        /// The most, by that estimate.
        max: Amount,
        /// The length of a window.
        window: Span,
    },
}

/// Where a fixed window begins.
///
/// # Examples
///
/// ```
/// use tidegate::{Algorithm, Align, Amount, Limit, Span};
///
/// let daily = Limit::fixed_window("daily", Amount::ONE, Span::from_secs(86_400))?;
/// assert!(matches!(daily.algorithm(), Algorithm::FixedWindow { align: Align::Epoch, .. }));
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Align {
    /// At whole multiples of its length since the Unix epoch: a day is a UTC day.
    #[default]
    Epoch,
    /// At a key's first request after its last window.
    FirstRequest,
}

impl Algorithm {
    /// The name used in configuration and in store keys.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Algorithm::TokenBucket { .. } => "token_bucket",
            Algorithm::FixedWindow { .. } => "fixed_window",
            Algorithm::RollingWindow { .. } => "rolling_window",
            Algorithm::SlidingWindow { .. } => "sliding_window",
        }
    }

    /// The most the limit holds.
    #[must_use]
    pub const fn max(&self) -> Amount {
        match *self {
            Algorithm::TokenBucket { capacity, .. } => capacity,
            Algorithm::FixedWindow { max, .. }
            | Algorithm::RollingWindow { max, .. }
            | Algorithm::SlidingWindow { max, .. } => max,
        }
    }

    /// The window's length; for a bucket the time that an empty one takes to fill, rounded up.
    #[must_use]
    pub fn window(&self) -> Span {
        match *self {
            Algorithm::TokenBucket { capacity, rate } => time_to_fill(capacity, rate),
            Algorithm::FixedWindow { window, .. }
            | Algorithm::RollingWindow { window, .. }
            | Algorithm::SlidingWindow { window, .. } => window,
        }
    }
}

/// Nanoseconds until `capacity` has come in at `rate`, rounded up.
fn time_to_fill(capacity: Amount, rate: Rate) -> Span {
    let scaled = u128::from(capacity.as_micros()) * u128::from(rate.den()) * 1_000;
    let nanos = scaled.div_ceil(u128::from(rate.num()));
    Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A named limit whose numbers are known to fit.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Limit, Rate, Span};
///
/// let rate = Rate::per(Amount::from_units(10), Span::from_secs(1)).expect("not zero");
/// let burst = Limit::token_bucket("burst", Amount::from_units(50), rate)?;
/// let daily = Limit::fixed_window("daily", Amount::from_units(10_000), Span::from_secs(86_400))?;
/// let spaced = burst.with_min_interval(Span::from_millis(5))?;
/// assert_eq!(spaced.name().as_str(), "burst");
/// assert_eq!(daily.algorithm().window(), Span::from_secs(86_400));
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit {
    name: Name,
    algorithm: Algorithm,
    min_interval: Option<Span>,
    rule: Rule,
}

impl Limit {
    /// A bucket of `capacity` units that starts full and refills at `rate`.
    ///
    /// # Errors
    ///
    /// [`LimitError`] when the name is none, the rate is below one a year or above 1e9 a second, or
    /// the numbers are too fine together (`2 * capacity * den` reaches 2^53 in millionths).
    pub fn token_bucket(name: &str, capacity: Amount, rate: Rate) -> Result<Limit, LimitError> {
        let (num, den) = (u128::from(rate.num()), u128::from(rate.den()));
        if num * SLOWEST_MICROS_PER_UNIT < den * u128::from(MICROS_PER_UNIT) {
            return Err(LimitError::RateTooSlow { rate });
        }
        if num > FASTEST_UNITS_PER_SECOND * den {
            return Err(LimitError::RateTooFast { rate });
        }
        if num >= DOMAIN || den >= DOMAIN || 2 * u128::from(capacity.as_micros()) * den >= DOMAIN {
            return Err(LimitError::RateTooFine { capacity, rate });
        }
        Limit::new(name, Algorithm::TokenBucket { capacity, rate })
    }

    /// At most `max` units in each window of length `window`; windows begin at whole multiples of
    /// `window` since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`LimitError`] when the name is none, the window is not 1 ms to 10 years of whole
    /// microseconds, or `max` is above 4503599627 units.
    pub fn fixed_window(name: &str, max: Amount, window: Span) -> Result<Limit, LimitError> {
        Limit::windowed(name, Algorithm::FixedWindow { max, window, align: Align::Epoch })
    }

    /// Like [`Limit::fixed_window`], with a window that begins at a key's first request.
    ///
    /// # Errors
    ///
    /// As for [`Limit::fixed_window`].
    pub fn fixed_window_from_first(
        name: &str,
        max: Amount,
        window: Span,
    ) -> Result<Limit, LimitError> {
        Limit::windowed(name, Algorithm::FixedWindow { max, window, align: Align::FirstRequest })
    }

    /// At most `max` units in any span of length `window`, exactly.
    ///
    /// # Errors
    ///
    /// As for [`Limit::fixed_window`].
    pub fn rolling_window(name: &str, max: Amount, window: Span) -> Result<Limit, LimitError> {
        Limit::windowed(name, Algorithm::RollingWindow { max, window })
    }

    /// At most `max` units by the two-counter estimate of the last `window`.
    ///
    /// # Errors
    ///
    /// As for [`Limit::fixed_window`].
    pub fn sliding_window(name: &str, max: Amount, window: Span) -> Result<Limit, LimitError> {
        Limit::windowed(name, Algorithm::SlidingWindow { max, window })
    }

    /// A token bucket as people say it: `"100/minute"`, `"5 per second"`, `"10/7s burst 20"`.
    ///
    /// Without `burst` the bucket holds the count.
    ///
    /// # Errors
    ///
    /// [`LimitError`] when the text is no quota, or as for [`Limit::token_bucket`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Amount, Limit};
    ///
    /// let limit = Limit::quota("api", "100/minute burst 20")?;
    /// assert_eq!(limit.algorithm().max(), Amount::from_units(20));
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn quota(name: &str, text: &str) -> Result<Limit, LimitError> {
        let quota: Quota = text.parse()?;
        Limit::token_bucket(name, quota.burst(), quota.rate())
    }

    /// The same limit with a minimum spacing between two requests of one key, whatever they cost.
    ///
    /// # Errors
    ///
    /// [`LimitError::Window`] when the interval is not 1 ms to 10 years of whole microseconds.
    pub fn with_min_interval(mut self, interval: Span) -> Result<Limit, LimitError> {
        check_window(interval)?;
        self.min_interval = Some(interval);
        Ok(self)
    }

    /// The limit's name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// How it counts.
    #[must_use]
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// The minimum spacing, if it has one.
    #[must_use]
    pub fn min_interval(&self) -> Option<Span> {
        self.min_interval
    }

    /// The algorithm as a step over state.
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// A limit over windows: checks what they have in common.
    fn windowed(name: &str, algorithm: Algorithm) -> Result<Limit, LimitError> {
        check_window(algorithm.window())?;
        if 2 * u128::from(algorithm.max().as_micros()) >= DOMAIN {
            return Err(LimitError::TooMany { max: algorithm.max() });
        }
        Limit::new(name, algorithm)
    }

    fn new(name: &str, algorithm: Algorithm) -> Result<Limit, LimitError> {
        let name = Name::new(name)?;
        Ok(Limit { name, algorithm, min_interval: None, rule: Rule::new(&algorithm) })
    }
}

/// Two limits are equal when their names and numbers are.
impl PartialEq for Limit {
    fn eq(&self, other: &Limit) -> bool {
        self.name == other.name
            && self.algorithm == other.algorithm
            && self.min_interval == other.min_interval
    }
}

impl Rate {
    /// The nearest rate whose products with `capacity` fit, for decimals that are too fine; the
    /// rate itself when it fits.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Amount, Limit, Rate};
    ///
    /// let capacity = Amount::from_units(1_000_000);
    /// let rate = Rate::from_decimal("0.3333333").expect("a positive decimal");
    /// assert!(Limit::token_bucket("fine", capacity, rate).is_err());
    /// let nearest = rate.nearest_for(capacity).expect("one fits");
    /// assert!(Limit::token_bucket("fine", capacity, nearest).is_ok());
    /// ```
    #[must_use]
    pub fn nearest_for(self, capacity: Amount) -> Option<Rate> {
        let whole = u128::from(capacity.as_micros()).max(1) * 2;
        match (DOMAIN - 1) / whole {
            0 => None,
            max_den => self.nearest_within(DOMAIN - 1, max_den),
        }
    }
}

/// Whether a span may be a window: 1 ms to 10 years, whole microseconds.
fn check_window(window: Span) -> Result<(), LimitError> {
    let whole_micros = window.as_nanos().is_multiple_of(1_000);
    if !whole_micros || window < WINDOW_MIN || window > WINDOW_MAX {
        return Err(LimitError::Window { window });
    }
    Ok(())
}

/// Why numbers make no limit.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Limit, LimitError, Span};
///
/// let error = Limit::fixed_window("short", Amount::ONE, Span::from_nanos(1));
/// assert!(matches!(error, Err(LimitError::Window { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The name is not one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The text of a quota is not one.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// The window, or the minimum interval, is out of range.
    #[error("{window} is no window; use 1 ms to 3650 days, in whole microseconds")]
    Window {
        /// The window asked for.
        window: Span,
    },
    /// The maximum is too large to be counted in millionths below 2^53.
    #[error("{max} is too many; the most is 4503599627")]
    TooMany {
        /// The maximum asked for.
        max: Amount,
    },
    /// The rate is below one a year.
    #[error("a rate of {rate} is too slow; the slowest is 1 per year")]
    RateTooSlow {
        /// The rate asked for.
        rate: Rate,
    },
    /// The rate is above 1e9 a second.
    #[error("a rate of {rate} is too fast; the fastest is 1000000000 per second")]
    RateTooFast {
        /// The rate asked for.
        rate: Rate,
    },
    /// Capacity and rate are each fine, but not exact together.
    #[error(
        "capacity {capacity} at {rate} cannot be counted exactly: 2 x capacity x {den} (the rate's \
         denominator) reaches 2^53 millionths; use a smaller capacity or a rounder rate",
        den = rate.den()
    )]
    RateTooFine {
        /// The capacity asked for.
        capacity: Amount,
        /// The rate asked for.
        rate: Rate,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_year(count: u64) -> Rate {
        Rate::per(Amount::from_units(count), Span::from_secs(365 * 86_400)).expect("a rate")
    }

    #[test]
    fn limits_that_cannot_be_exact_are_refused_with_the_reason() {
        let error = Limit::token_bucket("a", Amount::from_units(1_000_000), per_year(7));
        assert!(matches!(error, Err(LimitError::RateTooFine { .. })), "{error:?}");
        let error = Limit::fixed_window("a", Amount::from_units(1 << 53), Span::from_secs(1));
        assert!(matches!(error, Err(LimitError::TooMany { .. })), "{error:?}");
        let error = Limit::rolling_window("a", Amount::ONE, Span::from_nanos(1_000_001));
        assert!(matches!(error, Err(LimitError::Window { .. })), "{error:?}");
    }

    #[test]
    fn rates_from_one_a_year_to_a_billion_a_second_load() {
        let second = Span::from_secs(1);
        let fastest = Rate::per(Amount::from_units(1_000_000_000), second).expect("a rate");
        assert!(Limit::token_bucket("a", Amount::from_units(1_000_000_000), fastest).is_ok());
        assert!(Limit::token_bucket("a", Amount::from_units(100), per_year(1)).is_ok());
        let slower = Rate::per(Amount::ONE, Span::from_secs(365 * 86_400 + 1)).expect("a rate");
        let error = Limit::token_bucket("a", Amount::ONE, slower);
        assert!(matches!(error, Err(LimitError::RateTooSlow { .. })), "{error:?}");
        let faster = Rate::per(Amount::from_units(1_000_000_001), second).expect("a rate");
        let error = Limit::token_bucket("a", Amount::ONE, faster);
        assert!(matches!(error, Err(LimitError::RateTooFast { .. })), "{error:?}");
    }

    #[test]
    fn a_rate_too_fine_for_any_capacity_is_refused_for_none_too() {
        let rate = Rate::from_decimal("4503599627370497e-19").expect("a rate");
        let error = Limit::token_bucket("a", Amount::ZERO, rate);
        assert!(matches!(error, Err(LimitError::RateTooFine { .. })), "{error:?}");
    }

    #[test]
    fn decimal_rates_round_to_the_nearest_that_fits() {
        let capacity = Amount::from_units(1_000_000);
        let exact = Rate::from_decimal("0.1").expect("a rate");
        assert_eq!(exact.nearest_for(capacity), Some(exact));
        let fine = Rate::from_decimal("3.14159265358979").expect("a rate");
        let nearest = fine.nearest_for(capacity).expect("one fits");
        assert_eq!((nearest.num(), nearest.den()), (355, 113));
        assert_eq!(fine.nearest_for(Amount::MAX), None, "no rate fits such a capacity");
    }
}
