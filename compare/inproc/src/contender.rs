//! What is measured: the product and its peers, behind one small trait.

mod governor;
mod limitador;
mod throttlecrab;
mod tidegate;

pub use self::governor::Governor;
pub use self::limitador::Limitador;
pub use self::throttlecrab::Throttlecrab;
pub use self::tidegate::{Batched, PacedClock, Tidegate, token_bucket};

/// The limit of a measurement, in terms that all contenders have: `burst` at once, then one every
/// `period` seconds. (Limitador counts windows: `burst` in each `period`.)
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    pub burst: u32,
    pub period: u32,
}

impl Quota {
    /// Allows all that many keys are asked for here, and no key is back to full meanwhile.
    pub const ROOMY: Quota = Quota {
        burst: 1_000_000,
        period: 600,
    };
    /// Allows all that one key is asked for here.
    pub const HOT: Quota = Quota {
        burst: 1_000_000_000,
        period: 1,
    };
    /// Allows all that the most frequent of many keys is asked for, and rare ones stay in use.
    pub const SKEWED: Quota = Quota {
        burst: 4_000_000,
        period: 60,
    };
    /// Denies a key's second request, and all after it.
    pub const TIGHT: Quota = Quota {
        burst: 1,
        period: 86_400,
    };
}

/// A rate limiter that can be asked about a key.
pub trait Contender: Sync {
    /// Decides one request of `key` at the time of the contender's own clock.
    #[allow(
        clippy::ptr_arg,
        reason = "governor asks by reference to its own key type"
    )]
    fn check(&self, key: &String) -> bool;

    /// Decides one request of each key, in order, and says how many were allowed.
    ///
    /// Compiled for each contender, so that only one call of many checks is virtual.
    fn check_all(&self, keys: &[String]) -> usize {
        keys.iter().filter(|key| self.check(key)).count()
    }
}

/// Asks once for each of the keys 0 to `n`.
pub fn fill(contender: &dyn Contender, n: usize) {
    for number in 0..n {
        contender.check(&crate::key::key(number));
    }
}
