//! How long decisions take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in nanoseconds and as written; one more bucket is above them.
pub(super) const BOUNDS: [(u64, &str); 20] = [
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

/// Durations by size, and their sum.
///
/// Buckets hold their own count only; they are summed when somebody looks, so that the number of
/// observations is exactly the sum of the buckets, and an observation is two additions.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    /// Counts `count` observations of one duration, in one addition.
    pub(super) fn observe(&self, elapsed: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|(bound, _)| nanos <= *bound);
        // Relaxed: each number stands alone; a scrape in between is off by this observation.
        self.buckets[bucket.unwrap_or(BOUNDS.len())].fetch_add(count, Ordering::Relaxed);
        self.nanos.fetch_add(nanos.saturating_mul(count), Ordering::Relaxed);
    }

    /// How many observations are at or below each bound, and in all last.
    pub(super) fn cumulative(&self) -> [u64; BOUNDS.len() + 1] {
        let mut sum = 0;
        std::array::from_fn(|place| {
            sum += self.buckets[place].load(Ordering::Relaxed);
            sum
        })
    }

    /// The sum of the observations, in nanoseconds.
    pub(super) fn sum_nanos(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_a_batch_is_one_addition() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_micros(1), 1);
        histogram.observe(Duration::from_nanos(1_001), 3);
        histogram.observe(Duration::from_secs(3), 1);
        histogram.observe(Duration::from_secs(9), 0);
        let counts = histogram.cumulative();
        assert_eq!((counts[0], counts[1], counts[19], counts[20]), (1, 4, 4, 5));
        assert_eq!(histogram.sum_nanos(), 1_000 + 3 * 1_001 + 3_000_000_000);
    }
}
