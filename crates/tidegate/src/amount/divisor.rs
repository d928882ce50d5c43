//! Division by a number known beforehand, without dividing.

/// A divisor and what multiplies in its place.
///
/// The method of Granlund and Montgomery (1994), in the form without a branch: the quotient is the
/// high half of `n * magic`, averaged with n, shifted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    by: u64,
    magic: u64,
    shift: u32,
    wide: Wide,
}

/// What multiplies in place of dividing two words.
#[derive(Clone, Copy, Debug)]
struct Wide {
    /// How far the divisor is shifted to fill its word.
    shift: u32,
    /// `(2^128 - 1) / shifted - 2^64`.
    reciprocal: u64,
}

impl Wide {
    fn new(by: u64) -> Wide {
        let shift = by.leading_zeros();
        let (_, reciprocal) = halves(u128::MAX / u128::from(by << shift));
        Wide { shift, reciprocal }
    }
}

/// The high and the low word.
#[allow(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn halves(n: u128) -> (u64, u64) {
    ((n >> 64) as u64, n as u64)
}

impl Divisor {
    /// Divides by `by`; by one where it is zero, which no caller has.
    pub(crate) fn new(by: u64) -> Divisor {
        let by = by.max(1);
        let (log, wide) = (by.ilog2(), Wide::new(by));
        if by.is_power_of_two() {
            return Divisor { by, magic: 0, shift: log.saturating_sub(1), wide };
        }
        // magic = ceil(2^(65 + log) / by), of which the 65th bit is left out.
        let high = 1_u128 << (64 + log);
        let (quotient, rest) = (high / u128::from(by), high % u128::from(by));
        let twice = 2 * rest;
        let magic = 2 * quotient + u128::from(twice >= u128::from(by)) + 1;
        #[allow(clippy::cast_possible_truncation, reason = "the 65th bit is left out")]
        Divisor { by, magic: magic as u64, shift: log, wide }
    }

    /// The number itself.
    pub(crate) fn get(self) -> u64 {
        self.by
    }

    /// `n / by`, rounded down.
    #[inline]
    pub(crate) fn floor(self, n: u64) -> u64 {
        if self.by == 1 {
            return n;
        }
        let product = u128::from(n) * u128::from(self.magic);
        let high = u64::try_from(product >> 64).unwrap_or(u64::MAX);
        (((n - high) >> 1) + high) >> self.shift
    }

    /// `n / by`, rounded down, where that is below 2^64.
    ///
    /// The method of Möller and Granlund (2011): two words by one, with the reciprocal of the divisor
    /// shifted to fill its word.
    #[inline]
    pub(crate) fn floor_wide(self, n: u128) -> u64 {
        let by = self.by << self.wide.shift;
        let (high, low) = halves(n << self.wide.shift);
        let (estimate, rest_of_it) = halves(
            (u128::from(self.wide.reciprocal) * u128::from(high))
                .wrapping_add(n << self.wide.shift),
        );
        let quotient = estimate.wrapping_add(1);
        let rest = low.wrapping_sub(quotient.wrapping_mul(by));
        let (quotient, rest) = match rest > rest_of_it {
            true => (quotient.wrapping_sub(1), rest.wrapping_add(by)),
            false => (quotient, rest),
        };
        quotient.wrapping_add(u64::from(rest >= by))
    }

    /// `n / by`, rounded up.
    #[inline]
    pub(crate) fn ceil(self, n: u64) -> u64 {
        n.checked_sub(1).map_or(0, |less| self.floor(less) + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        let near_a_power = (0_u32..64, -2_i64..3)
            .prop_map(|(power, off)| (1_u64 << power).wrapping_add_signed(off));
        prop_oneof![any::<u64>(), 1_u64..1000, near_a_power, Just(u64::MAX)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn it_divides_as_division_does(n in number(), by in number()) {
            let by = by.max(1);
            let divisor = Divisor::new(by);
            prop_assert_eq!(divisor.floor(n), n / by);
            prop_assert_eq!(divisor.ceil(n), n.div_ceil(by));
            let (wide, by_wide) = (u128::from(n) * u128::from(by - 1) + u128::from(n % by), u128::from(by));
            prop_assert_eq!(u128::from(divisor.floor_wide(wide)), wide / by_wide);
            // Just below, at and above a multiple is where a wrong magic shows.
            for n in [n / by * by, (n / by * by).wrapping_sub(1)] {
                prop_assert_eq!(divisor.floor(n), n / by);
            }
        }
    }
}
