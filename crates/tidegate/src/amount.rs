//! How much: costs, limits and remainders in whole millionths of a unit, and rates as fractions.

use std::fmt;
use std::str::FromStr;

use crate::time::Span;

/// Millionths in one unit.
pub(crate) const MICROS_PER_UNIT: u64 = 1_000_000;

/// An amount of units, held as a whole number of millionths.
///
/// One unit is one request unless costs say otherwise. A [`Cost`] is the amount that one request
/// asks for.
///
/// # Examples
///
/// ```
/// use tidegate::Amount;
///
/// let amount: Amount = "2.5".parse()?;
/// assert_eq!(amount.as_micros(), 2_500_000);
/// assert_eq!(amount.whole_units(), 2);
/// assert_eq!(amount.to_string(), "2.5");
/// # Ok::<(), tidegate::AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u64);

/// The units one request asks for: an [`Amount`] from 0 to 1e12 units. Zero asks nothing and takes
/// nothing.
pub type Cost = Amount;

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount(0);
    /// One unit.
    pub const ONE: Amount = Amount(MICROS_PER_UNIT);
    /// The largest amount that can be parsed: 1e12 units.
    pub const MAX: Amount = Amount(1_000_000_000_000 * MICROS_PER_UNIT);

    /// This many millionths of a unit; anything above [`Amount::MAX`] becomes [`Amount::MAX`].
    #[must_use]
    pub const fn from_micros(micros: u64) -> Amount {
        if micros > Amount::MAX.0 {
            Amount::MAX
        } else {
            Amount(micros)
        }
    }

    /// This many units; anything above [`Amount::MAX`] becomes [`Amount::MAX`].
    #[must_use]
    pub const fn from_units(units: u64) -> Amount {
        Amount::from_micros(units.saturating_mul(MICROS_PER_UNIT))
    }

    /// Millionths of a unit.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole units, rounded down.
    #[must_use]
    pub const fn whole_units(self) -> u64 {
        self.0 / MICROS_PER_UNIT
    }

    /// The nearest double, in units.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_UNIT as f64
    }

    /// Whether this is nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The amount that a double means when it is written in its shortest decimal form.
    ///
    /// # Errors
    ///
    /// [`AmountError`] when it is negative, not finite, or above 1e12.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::Amount;
    ///
    /// assert_eq!(Amount::from_f64(0.1)?, "0.1".parse()?);
    /// assert!(Amount::from_f64(f64::NAN).is_err());
    /// # Ok::<(), tidegate::AmountError>(())
    /// ```
    pub fn from_f64(units: f64) -> Result<Amount, AmountError> {
        if !units.is_finite() {
            return Err(AmountError::NotFinite);
        }
        units.to_string().parse()
    }
}

impl std::ops::Add for Amount {
    type Output = Amount;

    /// Adds; saturates at [`Amount::MAX`].
    fn add(self, other: Amount) -> Amount {
        Amount::from_micros(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Amount {
    /// Writes the exact decimal, without trailing zeros: `10`, `0.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (units, micros) = (self.0 / MICROS_PER_UNIT, self.0 % MICROS_PER_UNIT);
        if micros == 0 {
            return write!(f, "{units}");
        }
        let digits = format!("{micros:06}");
        write!(f, "{units}.{}", digits.trim_end_matches('0'))
    }
}

/// Why a text or a double is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmountError {
    /// The text is empty or holds something other than a decimal number.
    #[error("not a decimal number; write it like 1, 2.5 or 1e3")]
    NotDecimal,
    /// The number is below zero.
    #[error("below zero; amounts start at 0")]
    Negative,
    /// The number is NaN or infinite.
    #[error("not a finite number")]
    NotFinite,
    /// The number is above 1e12.
    #[error("above the largest amount, 1e12")]
    TooLarge,
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Reads a decimal such as `1`, `2.5`, `.5` or `1e-3`; digits finer than a millionth round up.
    fn from_str(text: &str) -> Result<Amount, AmountError> {
        let decimal = Decimal::parse(text)?;
        match decimal.micros_ceil() {
            0 => Ok(Amount::ZERO),
            _ if decimal.negative => Err(AmountError::Negative),
            micros => match u64::try_from(micros) {
                Ok(micros) if micros <= Amount::MAX.0 => Ok(Amount(micros)),
                _ => Err(AmountError::TooLarge),
            },
        }
    }
}

/// A decimal number as written: `digits * 10^exponent`, with digits that were too many to hold
/// remembered as a tail above zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
    tail: bool,
}

/// Digits kept of a decimal: enough for 1e12 units in millionths, with room to spare.
const MAX_DIGITS: u32 = 30;

impl Decimal {
    /// Reads `[+-] digits [. digits] [e [+-] digits]`.
    pub(crate) fn parse(text: &str) -> Result<Decimal, AmountError> {
        let (negative, text) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if matches!(
            text.to_ascii_lowercase().as_str(),
            "nan" | "inf" | "infinity"
        ) {
            return Err(AmountError::NotFinite);
        }
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(AmountError::NotDecimal);
        }
        let mut decimal = Decimal {
            negative,
            digits: 0,
            exponent,
            tail: false,
        };
        decimal.push(whole, false)?;
        decimal.push(fraction, true)?;
        Ok(decimal)
    }

    /// Appends written digits, which stand before or after the decimal point.
    fn push(&mut self, text: &str, after_point: bool) -> Result<(), AmountError> {
        for byte in text.bytes() {
            if !byte.is_ascii_digit() {
                return Err(AmountError::NotDecimal);
            }
            let room = self.digits < 10_u128.pow(MAX_DIGITS);
            if room {
                self.digits = self.digits * 10 + u128::from(byte - b'0');
            } else {
                self.tail |= byte != b'0';
            }
            let moved = i32::from(!room) - i32::from(after_point);
            self.exponent = self.exponent.saturating_add(moved);
        }
        Ok(())
    }

    /// The value in millionths, rounded up; `u128::MAX` when it is larger than that.
    fn micros_ceil(&self) -> u128 {
        match self.fraction(6) {
            Some((num, den)) => num.div_ceil(den).saturating_add(u128::from(self.tail)),
            None if self.exponent > 0 => u128::MAX,
            None => 1,
        }
    }

    /// The value times `10^shift` as a fraction, or nothing when it is beyond 128 bits.
    ///
    /// A zero is always `(0, 1)`.
    pub(crate) fn fraction(&self, shift: i32) -> Option<(u128, u128)> {
        if self.digits == 0 {
            return Some((0, 1));
        }
        let exponent = self.exponent.saturating_add(shift);
        let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
        if exponent < 0 {
            return Some((self.digits, power));
        }
        Some((self.digits.checked_mul(power)?, 1))
    }

    /// Whether a minus sign stands before a number other than zero.
    pub(crate) fn is_negative(&self) -> bool {
        self.negative && (self.digits > 0 || self.tail)
    }
}

/// Reads the digits after an `e`; an exponent too large for any amount saturates.
fn parse_exponent(text: &str) -> Result<i32, AmountError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AmountError::NotDecimal);
    }
    let size = digits.parse().unwrap_or(i32::MAX / 4).min(i32::MAX / 4);
    Ok(if text.starts_with('-') { -size } else { size })
}

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
                max.saturating_sub(before)
                    .checked_div(last)
                    .unwrap_or(u128::MAX)
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
        write!(
            f,
            "1 per {}",
            Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        )
    }
}

/// Of two fractions the one nearer to `target`; one with a zero in it is none.
fn nearer(target: (u128, u128), a: (u128, u128), b: (u128, u128)) -> Option<Rate> {
    // |target - x| = distance / (den * den of x); the common den of target drops out.
    let distance = |x: (u128, u128)| (target.0 * x.1).abs_diff(target.1 * x.0);
    let valid = |x: (u128, u128)| x.0 > 0 && x.1 > 0;
    let a_is_nearer = distance(a).saturating_mul(b.1) <= distance(b).saturating_mul(a.1);
    let (num, den) = if valid(a) && (!valid(b) || a_is_nearer) {
        a
    } else {
        b
    };
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

    fn micros(text: &str) -> Result<u64, AmountError> {
        text.parse::<Amount>().map(Amount::as_micros)
    }

    #[test]
    fn decimals_are_read_exactly_and_finer_digits_round_up() {
        assert_eq!(micros("1"), Ok(1_000_000));
        assert_eq!(micros("0.1"), Ok(100_000));
        assert_eq!(micros(".5"), Ok(500_000));
        assert_eq!(micros("5."), Ok(5_000_000));
        assert_eq!(micros("1e-6"), Ok(1));
        assert_eq!(micros("0.0000001"), Ok(1));
        assert_eq!(
            micros("1.0000000000000000000000000000000000001"),
            Ok(1_000_001)
        );
        assert_eq!(micros("1e12"), Ok(1_000_000_000_000_000_000));
        assert_eq!(micros("1e-400"), Ok(1));
        assert_eq!(micros("0e999999999999"), Ok(0));
        assert_eq!(micros("-0"), Ok(0));
    }

    #[test]
    fn what_is_no_amount_is_refused_and_mints_nothing() {
        for text in [
            "", ".", "0x10", "1e", "1e+", "1 ", "one", "1_000", "1,5", "--1", "e5", "+-1",
        ] {
            assert_eq!(micros(text), Err(AmountError::NotDecimal), "{text:?}");
        }
        for text in ["-1", "-1000", "-0.0000001"] {
            assert_eq!(micros(text), Err(AmountError::Negative), "{text:?}");
        }
        for text in [
            "1e400",
            "1000000000001",
            "18446744073709551616",
            "1e12000000000",
        ] {
            assert_eq!(micros(text), Err(AmountError::TooLarge), "{text:?}");
        }
        for text in ["NaN", "inf", "-Infinity"] {
            assert_eq!(micros(text), Err(AmountError::NotFinite), "{text:?}");
        }
    }

    #[test]
    fn a_double_means_its_shortest_decimal() {
        assert_eq!(Amount::from_f64(0.3), Ok(Amount(300_000)));
        assert_eq!(Amount::from_f64(1e-300), Ok(Amount(1)));
        assert_eq!(Amount::from_f64(1e300), Err(AmountError::TooLarge));
        assert_eq!(Amount::from_f64(-1.0), Err(AmountError::Negative));
        assert_eq!(Amount::from_f64(f64::INFINITY), Err(AmountError::NotFinite));
    }

    #[test]
    fn rates_are_reduced() {
        let rate = Rate::per(Amount::from_units(100), Span::from_secs(60)).expect("a rate");
        assert_eq!((rate.num(), rate.den()), (5, 3));
        assert_eq!(rate.to_string(), "100 per 1min");
        assert_eq!(Rate::per(Amount::ZERO, Span::from_secs(1)), None);
    }
}
