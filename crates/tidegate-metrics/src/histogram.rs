//! How long decisions take.

use tidegate::Span;

use crate::sharded::Sharded;

/// The upper bounds of the buckets, in nanoseconds and as written; one more bucket is above them.
pub(crate) const BOUNDS: [(u64, &str); 20] = [
    (1_000, "1e-06"),
    (2_000, "2e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1"),
    (2_000_000_000, "2"),
];

/// The place of the sum of nanoseconds: beside the buckets of short durations, so that the two numbers
/// of most observations lie in one cache line.
const NANOS: usize = 0;

/// The place of the first bucket.
const BUCKETS: usize = 1;

/// Durations by size, and their sum.
///
/// Buckets hold their own count only; they are summed when somebody looks, so that the number of
/// observations is exactly the sum of the buckets, and an observation is two additions.
#[derive(Debug, Default)]
pub(crate) struct Histogram(Sharded<{ BUCKETS + BOUNDS.len() + 1 }>);

impl Histogram {
    /// Counts `count` observations of one duration, in one addition.
    #[inline]
    pub(crate) fn observe(&self, elapsed: Span, count: u64) {
        if count == 0 {
            return;
        }
        let nanos = elapsed.as_nanos();
        let bucket = BOUNDS.iter().position(|(bound, _)| nanos <= *bound).unwrap_or(BOUNDS.len());
        self.0.add([(BUCKETS + bucket, count), (NANOS, nanos.saturating_mul(count))]);
    }

    /// How many observations are at or below each bound, and in all last.
    pub(crate) fn cumulative(&self) -> [u64; BOUNDS.len() + 1] {
        let mut sum = 0;
        std::array::from_fn(|place| {
            sum += self.0.sum(BUCKETS + place);
            sum
        })
    }

    /// The sum of the observations, in nanoseconds.
    pub(crate) fn sum_nanos(&self) -> u64 {
        self.0.sum(NANOS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_a_batch_is_one_addition() {
        let histogram = Histogram::default();
        histogram.observe(Span::from_micros(1), 1);
        histogram.observe(Span::from_nanos(1_001), 3);
        histogram.observe(Span::from_secs(3), 1);
        histogram.observe(Span::from_secs(9), 0);
        let counts = histogram.cumulative();
        assert_eq!((counts[0], counts[1], counts[19], counts[20]), (1, 4, 4, 5));
        assert_eq!(histogram.sum_nanos(), 1_000 + 3 * 1_001 + 3_000_000_000);
    }
}
