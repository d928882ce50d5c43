//! Decimal numbers as written, read without rounding.

use super::AmountError;

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
        if matches!(text.to_ascii_lowercase().as_str(), "nan" | "inf" | "infinity") {
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
        let mut decimal = Decimal { negative, digits: 0, exponent, tail: false };
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

    /// The value in millionths, rounded up once; `u128::MAX` when it is larger than that.
    pub(super) fn micros_ceil(&self) -> u128 {
        match self.fraction(6) {
            Some((num, den)) if self.tail => (num / den).saturating_add(1),
            Some((num, den)) => num.div_ceil(den),
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
