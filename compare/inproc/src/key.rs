//! Keys, and the orders in which they are visited.

/// A key of 11 bytes: `user:` and six hexadecimal digits.
pub fn key(number: usize) -> String {
    format!("user:{number:06x}")
}

/// A key of 64 bytes.
pub fn long_key(number: usize) -> String {
    format!(
        "tenant-0123456789abcdef/region-eu-west-1/{:>24}",
        key(number)
    )
}

/// A small generator of numbers that look random: SplitMix64, the same numbers for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// A number from 0 to 1, 1 not included.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The keys 0 to `n` in a random order.
///
/// They lie in memory in that order, so that reading the keys themselves costs every contender
/// little and the same; stores are filled in another order, or their copies would lie so too.
pub fn shuffled(n: usize, seed: u64) -> Vec<String> {
    let mut numbers: Vec<usize> = (0..n).collect();
    let mut random = Random::new(seed);
    for last in (1..n).rev() {
        numbers.swap(last, random.below(last + 1));
    }
    numbers.into_iter().map(key).collect()
}

/// `visits` keys of `n`, the k-th most frequent one visited in proportion to 1/k.
pub fn zipf(n: usize, visits: usize, seed: u64) -> Vec<String> {
    let mut sums = Vec::with_capacity(n);
    let mut sum = 0.0;
    for rank in 1..=n {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut random = Random::new(seed);
    let pick = |random: &mut Random| {
        let at = random.unit() * sum;
        sums.partition_point(|&s| s <= at).min(n - 1)
    };
    (0..visits).map(|_| key(pick(&mut random))).collect()
}
