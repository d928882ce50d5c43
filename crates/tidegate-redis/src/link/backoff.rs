//! How long to wait before connecting again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The first wait, and the longest. The longest bounds how late a server's return is seen, and at two
/// to four attempts a second does a busy server no harm.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_millis(500);

/// Waits that double with each failure, half of each of them random: nodes that lost one server
/// together do not come back together.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Backoff {
        Backoff { next: FIRST }
    }

    /// The next wait.
    pub(super) fn step(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(LONGEST);
        let half = u64::try_from(whole.as_micros() / 2).unwrap_or(u64::MAX);
        // The standard library's random state is randomness enough here, and no dependency.
        let random = RandomState::new().hash_one(half);
        Duration::from_micros(half + random % (half + 1))
    }

    /// Starts again from the first wait.
    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P07: attempts stay below ten a second once the first second is over.
    #[test]
    fn waits_grow_to_a_bound_and_are_never_short_of_half() {
        let mut backoff = Backoff::new();
        let waits: Vec<Duration> = (0..20).map(|_| backoff.step()).collect();
        assert!(waits[0] >= FIRST / 2 && waits[0] <= FIRST, "{waits:?}");
        assert!(waits[5..].iter().all(|wait| *wait >= LONGEST / 2 && *wait <= LONGEST));
        assert!(waits[5..].windows(2).any(|two| two[0] != two[1]), "no jitter");
        backoff.reset();
        assert!(backoff.step() <= FIRST);
    }
}
