//! How fast a bucket refills: `0.1` a second, or `100/minute burst 20`.

use tidegate::{Amount, AmountError, Limit, LimitError, Quota, Rate};

use super::document::Node;
use super::reader::Reader;
use super::scalar::plain_number;
use crate::settings::Note;

/// A rate is rounded at most by one part in this many; what would need more is refused.
const FINEST: u128 = 100;

/// What a note about a rounded rate says.
const COUNTED_AS: &str = "is counted as";

/// The notes that tell of rounded rates, for those who show no other.
pub(crate) fn rounded_rates(notes: &[Note]) -> impl Iterator<Item = &str> {
    notes.iter().filter_map(|note| match note {
        Note::Info(text) if text.contains(COUNTED_AS) => Some(text.as_str()),
        _ => None,
    })
}

/// A rate as it was written.
pub(super) enum Pace {
    /// Units per second: may be rounded to a rate that can be counted exactly.
    Decimal { rate: Rate, text: String },
    /// Units per period: exact or refused.
    Notation(Quota),
}

impl<'a> Reader<'a> {
    /// Reads a rate.
    pub(super) fn pace(&mut self, node: &Node<'a>) -> Option<Pace> {
        let (text, quoted) = self.scalar(node, "rate", "a number per second or like 10/s")?;
        match plain_number(text).parse::<Amount>() {
            Err(AmountError::NotDecimal) => return self.quota(node, "rate").map(Pace::Notation),
            _ if quoted => {
                let help = format!("write {text} without quotes, or with a period: {text}/s");
                self.refuse_with(node, "rate must be a number, not text", help);
                return None;
            }
            _ => {}
        }
        let text = self.number(node, "rate", "0.1")?;
        match text.parse::<Amount>() {
            Ok(amount) if amount.is_zero() => {
                self.refuse(node, "rate is zero; it must be above 0");
            }
            Ok(_) => match decimal(&text) {
                Some(rate) => return Some(Pace::Decimal { rate, text }),
                None => self.refuse(node, "rate is too slow; the slowest is 1 per year"),
            },
            Err(AmountError::TooLarge) => {
                self.refuse(node, "rate is too fast; the fastest is 1000000000 per second");
            }
            Err(error) => self.refuse_amount(node, "rate", error),
        }
        None
    }

    /// Reads a quota such as `100/minute`.
    pub(super) fn quota(&mut self, node: &Node<'a>, name: &str) -> Option<Quota> {
        let (text, _) = self.scalar(node, name, "like 100/minute")?;
        match text.parse::<Quota>() {
            Ok(quota) => Some(quota),
            Err(error) => {
                self.refuse(node, format!("{name}: {error}"));
                None
            }
        }
    }

    /// A bucket that holds `capacity` and refills at a decimal rate, rounded if need be.
    pub(super) fn decimal_bucket(
        &mut self,
        name: &str,
        capacity: Amount,
        (rate, text): (Rate, &str),
    ) -> Result<Limit, LimitError> {
        let error = match Limit::token_bucket(name, capacity, rate) {
            Err(error @ LimitError::RateTooFine { .. }) => error,
            other => return other,
        };
        let nearest = rate.nearest_for(capacity).filter(|near| is_near(rate, *near));
        let Some(nearest) = nearest else {
            return Err(error);
        };
        let limit = Limit::token_bucket(name, capacity, nearest)?;
        self.info(format!(
            "limit {name}: a rate of {text} per second with a capacity of {capacity} {COUNTED_AS} \
             {}/{} per second, which is {}",
            nearest.num(),
            nearest.den(),
            nearest.units_per_second(),
        ));
        Ok(limit)
    }
}

/// The rate that a decimal says; digits beyond what 64 bits hold, 1e-18 of it, are cut off.
fn decimal(text: &str) -> Option<Rate> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut mantissa = mantissa;
    loop {
        if let Some(rate) = Rate::from_decimal(&format!("{mantissa}{exponent}")) {
            return Some(rate);
        }
        let shorter = &mantissa[..mantissa.len().checked_sub(1)?];
        if !shorter.contains('.') {
            return None;
        }
        mantissa = shorter;
    }
}

/// Whether `near` differs from `rate` by no more than one part in [`FINEST`].
fn is_near(rate: Rate, near: Rate) -> bool {
    let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let (a, b) = (wide(rate.num(), near.den()), wide(near.num(), rate.den()));
    a.abs_diff(b) <= a / FINEST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction(text: &str) -> Option<(u64, u64)> {
        decimal(text).map(|rate| (rate.num(), rate.den()))
    }

    #[test]
    fn a_decimal_is_the_fraction_that_it_says() {
        assert_eq!(fraction("0.1"), Some((1, 10)));
        assert_eq!(fraction("1e-3"), Some((1, 1_000)));
        assert_eq!(fraction(".5"), Some((1, 2)));
        assert_eq!(fraction("1e-30"), None);
    }

    #[test]
    fn digits_that_no_one_can_count_are_cut_off() {
        let (num, den) = fraction(&format!("0.{}", "3".repeat(60))).expect("a rate");
        assert_eq!(u128::from(num) * 3 + 1, u128::from(den));
    }
}
