//! How long one at the back of a line waits at least.

use crate::amount::Amount;
use crate::limit::{Algorithm, Limit};
use crate::policy::Policy;
use crate::time::Span;

/// The most that passes of a policy at once: the least that one of its limits holds.
pub(super) fn most_at_once(policy: &Policy) -> Amount {
    let most = policy.limits().iter().map(|limit| limit.algorithm().max()).min();
    most.unwrap_or_default()
}

/// The least time until `count` costs of `sum` together have passed one after the other, when
/// `told` is the store's wait for the part of it that can pass at once.
pub(super) fn least_wait(policy: &Policy, told: Span, sum: Amount, count: usize) -> Span {
    let alone = policy.limits().len() == 1;
    policy.limits().iter().fold(told, |least, limit| {
        let beyond = beyond_full(limit, sum);
        // The store's wait and that for the rest add up only where both are of one limit, and where
        // the wait ends in a fixed relation to its windows.
        let adds_up = alone && !matches!(limit.algorithm(), Algorithm::SlidingWindow { .. });
        let wait = if adds_up { told + beyond } else { beyond };
        let spaced = limit.min_interval().map_or(Span::ZERO, |gap| times(gap, count as u64 - 1));
        least.max(wait).max(spaced)
    })
}

/// The least time from when a limit's whole content has passed to when `sum` has.
fn beyond_full(limit: &Limit, sum: Amount) -> Span {
    let (sum, max) = (sum.as_micros(), limit.algorithm().max().as_micros());
    match limit.algorithm() {
        Algorithm::TokenBucket { rate, .. } => {
            // Millionths at num / den of them per microsecond; the rest of the division is dropped,
            // since this is a least wait.
            let micros = u128::from(sum.saturating_sub(max)) * u128::from(rate.den());
            let nanos = micros.saturating_mul(1_000) / u128::from(rate.num());
            Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        }
        // One window's worth may pass at the end of the current window, and another right after.
        _ => times(limit.algorithm().window(), sum.div_ceil(max.max(1)).saturating_sub(2)),
    }
}

fn times(span: Span, count: u64) -> Span {
    Span::from_nanos(span.as_nanos().saturating_mul(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_secs(1);

    fn least(limit: Limit, told: Span, sum: u64, count: usize) -> Span {
        let policy = Policy::new("p", [limit]).expect("a policy");
        least_wait(&policy, told, Amount::from_units(sum), count)
    }

    #[test]
    fn a_bucket_adds_the_time_in_which_the_rest_flows_in() {
        let bucket = || Limit::quota("l", "2/s burst 5").expect("a limit");
        assert_eq!(least(bucket(), Span::ZERO, 5, 5), Span::ZERO);
        assert_eq!(least(bucket(), SECOND, 5, 5), SECOND);
        assert_eq!(least(bucket(), SECOND, 11, 11), Span::from_secs(4));
    }

    #[test]
    fn windows_add_whole_windows_and_spacings_their_gaps() {
        let window = || Limit::fixed_window("l", Amount::from_units(5), SECOND).expect("a limit");
        assert_eq!(least(window(), SECOND, 10, 10), SECOND);
        assert_eq!(least(window(), SECOND, 11, 11), Span::from_secs(2));
        let spaced = window().with_min_interval(SECOND).expect("a spacing");
        assert_eq!(least(spaced, Span::ZERO, 4, 4), Span::from_secs(3));
    }
}
