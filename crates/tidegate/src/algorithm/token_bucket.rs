//! The token bucket: a debt that is paid back continuously.
//!
//! With capacity C and rate r, holding at most C tokens is owing at most C: a request of cost c
//! passes when debt + c <= C. This is GCRA (ITU-T I.371) with its time and its debt kept apart, so
//! that nothing is ever rounded: debt is counted in `1/den` of a millionth, of which exactly `num`
//! come back each nanosecond.

use super::{Answer, LATE_AT_MOST, Settled, Step, Words, first, put, settle_first};
use crate::amount::{Amount, Divisor, Rate, gcd};
use crate::mode::Fate;
use crate::time::{Span, Timestamp};

/// A bucket's numbers, in ticks of a nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    capacity: u64,
    /// Debt of an empty bucket: `capacity * den`.
    empty: u64,
    num: Divisor,
    den: Divisor,
}

/// What a key owes, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BucketState {
    time: Timestamp,
    /// In `1/den` of a millionth.
    debt: u64,
}

impl Words for BucketState {
    const COUNT: usize = 2;

    #[inline]
    fn read(words: &[u64]) -> BucketState {
        let [time, debt] = first(words);
        BucketState { time: Timestamp::from_nanos(time), debt }
    }

    #[inline]
    fn write(self, words: &mut [u64]) {
        put(words, [self.time.as_nanos(), self.debt]);
    }
}

impl TokenBucket {
    pub(crate) fn new(capacity: Amount, rate: Rate) -> TokenBucket {
        // num/den per microsecond = num / (1000 * den) per nanosecond, reduced.
        let divisor = u64::try_from(gcd(u128::from(rate.num()), 1_000)).unwrap_or(1);
        let (num, den) = (rate.num() / divisor, rate.den() * (1_000 / divisor));
        let capacity = capacity.as_micros();
        let (num, den) = (Divisor::new(num), Divisor::new(den));
        TokenBucket { capacity, empty: capacity * den.get(), num, den }
    }

    /// The denominator in which debt is counted.
    pub(super) fn scale(&self) -> u64 {
        self.den.get()
    }

    /// How much comes back each nanosecond.
    pub(super) fn pace(&self) -> u64 {
        self.num.get()
    }

    /// Converts a debt that was counted in another denominator, rounded up.
    pub(super) fn convert(&self, state: &mut BucketState, scale: u64) {
        let debt = u128::from(state.debt) * u128::from(self.den.get());
        let debt = debt.div_ceil(u128::from(scale.max(1)));
        state.debt = u64::try_from(debt).unwrap_or(u64::MAX);
    }

    /// The time after `now` until a settled state owes no more than `debt`.
    #[inline]
    fn until_owes(&self, settled: &BucketState, now: Timestamp, debt: u64) -> Span {
        if settled.debt <= debt {
            return Span::ZERO;
        }
        let span = Span::from_nanos(self.num.ceil(settled.debt - debt));
        (settled.time + span).since(now)
    }

    /// How much comes back in `elapsed`; saturates far above any debt.
    fn refill(&self, elapsed: Span) -> u64 {
        elapsed.as_nanos().saturating_mul(self.num.get())
    }
}

impl Settled for TokenBucket {
    type Copy = BucketState;

    fn state(&self, settled: &BucketState) -> BucketState {
        *settled
    }

    /// The state at `now`, or a little later when the clock was read late.
    #[inline]
    fn settled(&self, state: &BucketState, now: Timestamp) -> BucketState {
        if now >= state.time {
            let refill = self.refill(now.since(state.time));
            return BucketState { time: now, debt: state.debt.saturating_sub(refill) };
        }
        let lag = state.time.since(now);
        let late = lag <= LATE_AT_MOST && self.refill(lag) <= self.empty;
        if late { *state } else { BucketState { time: now, debt: state.debt } }
    }

    #[inline]
    fn wait_settled(&self, settled: &BucketState, now: Timestamp, cost: u64) -> Option<Span> {
        let room = self.capacity.checked_sub(cost)? * self.den.get();
        Some(self.until_owes(settled, now, room))
    }

    #[inline]
    fn remaining_settled(&self, settled: &BucketState) -> u64 {
        self.den.floor(self.empty.saturating_sub(settled.debt))
    }

    #[inline]
    fn reset_settled(&self, settled: &BucketState, now: Timestamp) -> Span {
        self.until_owes(settled, now, 0)
    }

    #[inline]
    fn charge_settled(&self, settled: &BucketState, cost: u64) -> BucketState {
        let debt = settled.debt.saturating_add(cost.saturating_mul(self.den.get()));
        BucketState { debt: debt.min(2 * self.empty), ..*settled }
    }
}

impl Step for TokenBucket {
    type State = BucketState;

    settle_first!();

    fn refund(&self, state: &mut BucketState, now: Timestamp, cost: u64, _taken_at: Timestamp) {
        let BucketState { time, debt } = self.settled(state, now);
        *state = match debt.saturating_sub(cost.saturating_mul(self.den.get())) {
            // Full means the same as absent, so it keeps no time that a late clock could meet.
            0 => BucketState::default(),
            debt => BucketState { time, debt },
        };
    }

    fn restamp(&self, state: &mut BucketState, now: Timestamp) {
        let settled = self.settled(state, now);
        if settled.time < state.time {
            *state = settled;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_one_third_loses_nothing_over_a_million_steps() {
        let rate = Rate::per(Amount::ONE, Span::from_secs(3)).expect("a rate");
        let bucket = TokenBucket::new(Amount::ONE, rate);
        let mut state = BucketState::default();
        let mut now = Timestamp::from_secs(1_000_000_000);
        for _ in 0..1_000_000 {
            assert_eq!(bucket.wait(&state, now, 1_000_000), Some(Span::ZERO));
            bucket.charge(&mut state, now, 1_000_000);
            assert_eq!(bucket.wait(&state, now, 1_000_000), Some(Span::from_secs(3)));
            let early = now + Span::from_nanos(2_999_999_999);
            assert_eq!(bucket.wait(&state, early, 1_000_000), Some(Span::from_nanos(1)));
            now = now + Span::from_secs(3);
        }
    }
}
