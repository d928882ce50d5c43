//! How much: costs, limits and remainders in whole millionths of a unit, and rates as fractions.

mod decimal;
mod divisor;
mod rate;

use std::fmt;
use std::str::FromStr;

pub(crate) use decimal::Decimal;
pub(crate) use divisor::Divisor;
pub use rate::Rate;
pub(crate) use rate::gcd;

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
        if micros > Amount::MAX.0 { Amount::MAX } else { Amount(micros) }
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
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, AmountError};
///
/// assert_eq!("-1".parse::<Amount>(), Err(AmountError::Negative));
/// assert_eq!("0x10".parse::<Amount>(), Err(AmountError::NotDecimal));
/// ```
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
            _ if decimal.is_negative() => Err(AmountError::Negative),
            micros => match u64::try_from(micros) {
                Ok(micros) if micros <= Amount::MAX.0 => Ok(Amount(micros)),
                _ => Err(AmountError::TooLarge),
            },
        }
    }
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
        assert_eq!(micros("1.0000000000000000000000000000000000001"), Ok(1_000_001));
        assert_eq!(micros("1.00000050000000000000000000000000001"), Ok(1_000_001));
        assert_eq!(micros("0.0000001000000000000000000000000000000000001"), Ok(1));
        assert_eq!(micros("1.00000100000000000000000000000000001"), Ok(1_000_002));
        let just_below = "999999999999.99999950000000000000000000001";
        assert_eq!(micros(just_below), Ok(1_000_000_000_000_000_000));
        assert_eq!(micros("1e12"), Ok(1_000_000_000_000_000_000));
        assert_eq!(micros("1e-400"), Ok(1));
        assert_eq!(micros("0e999999999999"), Ok(0));
        assert_eq!(micros("-0"), Ok(0));
    }

    #[test]
    fn what_is_no_amount_is_refused_and_mints_nothing() {
        for text in ["", ".", "0x10", "1e", "1e+", "1 ", "one", "1_000", "1,5", "--1", "e5", "+-1"]
        {
            assert_eq!(micros(text), Err(AmountError::NotDecimal), "{text:?}");
        }
        for text in ["-1", "-1000", "-0.0000001"] {
            assert_eq!(micros(text), Err(AmountError::Negative), "{text:?}");
        }
        for text in ["1e400", "1000000000001", "18446744073709551616", "1e12000000000"] {
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
}
