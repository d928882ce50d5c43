//! Rates: exact fractions of millionths per microsecond.

use std::fmt;

use super::Amount;
use super::decimal::Decimal;
use crate::time::Span;

/// How fast a bucket refills: a reduced fraction of millionths per microsecond.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Rate, Span};
///
/// let rate = Rate::per(Amount::from_units(10), Span::from_secs(1)).expect("within range");
/// assert_eq!(rate.to_string(), "10 per 1s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    num: u64,
    den: u64,
}

impl Rate {
    /// `amount` units every `period`, or nothing when either is zero or the fraction is too fine
    /// for 64 bits.
    #[must_use]
    pub fn per(amount: Amount, period: Span) -> Option<Rate> {
        // amount micro-units per period nanoseconds = 1000 * amount per period microseconds.
        Rate::from_fraction(u128::from(amount.0) * 1_000, u128::from(period.as_nanos()))
    }

    /// The rate that a decimal of units per second says, or nothing when the text is no decimal
    /// above zero, or is finer than 64 bits hold.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::Rate;
    ///
    /// assert_eq!(Rate::from_decimal("0.1").map(|rate| (rate.num(), rate.den())), Some((1, 10)));
    /// assert_eq!(Rate::from_decimal("-1"), None);
    /// ```
    #[must_use]
    pub fn from_decimal(units_per_second: &str) -> Option<Rate> {
        let decimal = Decimal::parse(units_per_second).ok()?;
        if decimal.is_negative() {
            return None;
        }
        let (num, den) = decimal.fraction(0)?;
        Rate::from_fraction(num, den)
    }

    /// The nearest rate above zero with `num <= max_num` and `den <= max_den`, by continued
    /// fractions (the best rational approximation, Khinchin 1964, section 6).
    pub(crate) fn nearest_within(self, max_num: u128, max_den: u128) -> Option<Rate> {
        let (num, den) = (u128::from(self.num), u128::from(self.den));
        let (mut n, mut d) = (num, den);
        let (mut before, mut last) = ((0_u128, 1_u128), (1_u128, 0_u128));
        while d != 0 {
            let step = n / d;
            let room = |max: u128, before: u128, last: u128| {
                max.saturating_sub(before).checked_div(last).unwrap_or(u128::MAX)
            };
            let fits = room(max_num, before.0, last.0).min(room(max_den, before.1, last.1));
            let taken = step.min(fits);
            let next = (taken * last.0 + before.0, taken * last.1 + before.1);
            if taken < step {
                return nearer((num, den), last, next);
            }
            (n, d) = (d, n % d);
            (before, last) = (last, next);
        }
        Rate::from_fraction(last.0, last.1)
    }

    /// A rate of `num / den` millionths of a unit per microsecond, reduced.
    pub(crate) fn from_fraction(num: u128, den: u128) -> Option<Rate> {
        if num == 0 || den == 0 {
            return None;
        }
        let divisor = gcd(num, den);
        let num = u64::try_from(num / divisor).ok()?;
        let den = u64::try_from(den / divisor).ok()?;
        Some(Rate { num, den })
    }

    /// The numerator of millionths per microsecond.
    #[must_use]
    pub const fn num(self) -> u64 {
        self.num
    }

    /// The denominator of millionths per microsecond.
    #[must_use]
    pub const fn den(self) -> u64 {
        self.den
    }

    /// Units per second as the nearest double, for people to read.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn units_per_second(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl fmt::Display for Rate {
    /// Writes `N per SPAN`, with the shortest period among the usual ones in which N is whole, or
    /// the time that one unit takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for secs in [1, 60, 3_600, 86_400, 31_536_000] {
            let units = u128::from(self.num) * secs;
            if units.is_multiple_of(u128::from(self.den)) {
                let span = Span::from_secs(u64::try_from(secs).unwrap_or(1));
                return write!(f, "{} per {span}", units / u128::from(self.den));
            }
        }
        let nanos = u128::from(self.den) * 1_000_000_000 / u128::from(self.num);
        write!(f, "1 per {}", Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

/// Of two fractions the one nearer to `target`; one with a zero in it is none.
fn nearer(target: (u128, u128), a: (u128, u128), b: (u128, u128)) -> Option<Rate> {
    // |target - x| = distance / (den * den of x); the common den of target drops out.
    let distance = |x: (u128, u128)| (target.0 * x.1).abs_diff(target.1 * x.0);
    let valid = |x: (u128, u128)| x.0 > 0 && x.1 > 0;
    let a_is_nearer = distance(a).saturating_mul(b.1) <= distance(b).saturating_mul(a.1);
    let (num, den) = if valid(a) && (!valid(b) || a_is_nearer) { a } else { b };
    Rate::from_fraction(num, den)
}

/// The greatest common divisor; the other number when one is zero.
pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_reduced() {
        let rate = Rate::per(Amount::from_units(100), Span::from_secs(60)).expect("a rate");
        assert_eq!((rate.num(), rate.den()), (5, 3));
        assert_eq!(rate.to_string(), "100 per 1min");
        assert_eq!(Rate::per(Amount::ZERO, Span::from_secs(1)), None);
    }
}
