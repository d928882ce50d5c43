//! Where numbers end: what is too large is refused when it is made, and the largest that is not works.

use tidegate::{
    Amount, Check, Cost, Decision, Key, Limit, LimitError, Mode, Policy, Rate, Span, Store,
    Timestamp,
};
use tidegate_testkit::oracle::Oracle;
use tidegate_testkit::{MemoryRig, Rig};

/// The start of a day in 2024.
const DAY: Timestamp = Timestamp::from_secs(20_000 * 86_400);
/// The start of a day in 2500; time ends in 2554.
const LATE: Timestamp = Timestamp::from_secs(193_581 * 86_400);
const YEAR: Span = Span::from_secs(365 * 86_400);
/// The largest maximum: twice it is still below 2^53 millionths.
const LARGEST: Amount = Amount::from_micros((1 << 52) - 1);

fn per_second(count: u64) -> Rate {
    Rate::per(Amount::from_units(count), Span::from_secs(1)).expect("a rate")
}

/// A limit of every algorithm with this maximum.
fn every_algorithm(max: Amount, window: Span, rate: Rate) -> [Result<Limit, LimitError>; 5] {
    [
        Limit::token_bucket("limit", max, rate),
        Limit::fixed_window("limit", max, window),
        Limit::fixed_window_from_first("limit", max, window),
        Limit::rolling_window("limit", max, window),
        Limit::sliding_window("limit", max, window),
    ]
}

/// P34: capacities that a double or a 64-bit number could hold, but not their products.
#[test]
fn capacities_beyond_what_is_exact_are_refused_with_the_reason() {
    let ends = [(1 << 53) - 1, (1 << 63) - 1, u64::MAX];
    let units = ends.map(Amount::from_units);
    let micros = ends.map(Amount::from_micros);
    let least = Amount::from_micros(LARGEST.as_micros() + 1);
    for max in units.into_iter().chain(micros).chain([least]) {
        for rate in [per_second(1), per_second(1_000_000_000)] {
            for limit in every_algorithm(max, Span::from_secs(1), rate) {
                let error = limit.expect_err("it does not fit");
                let refused = match error {
                    LimitError::TooMany { max } => max,
                    LimitError::RateTooFine { capacity, .. } => capacity,
                    ref other => panic!("{max}: {other}"),
                };
                assert_eq!(refused, max);
                assert!(error.to_string().contains(&max.to_string()), "{error}");
            }
            assert_eq!(rate.nearest_for(max), None, "{max}");
        }
    }
    for count in ["9007199254740991", "9223372036854775807", "18446744073709551616", "1e400"] {
        assert!(Limit::quota("limit", &format!("{count}/s")).is_err(), "{count}");
        assert!(Limit::quota("limit", &format!("1/s burst {count}")).is_err(), "{count}");
    }
}

/// A rate that is too fine for 64 bits once time is counted in nanoseconds is refused, whatever the
/// bucket holds.
#[test]
fn rates_beyond_what_is_exact_are_refused() {
    // A prime above 2^64 / 1000, so that nothing cancels.
    let period = Span::from_nanos(18_446_744_073_709_589);
    for micros in [1_000_001, 999_999_937] {
        let rate = Rate::per(Amount::from_micros(micros), period).expect("a rate");
        assert!(rate.den() > 18_000_000_000_000_000, "{rate:?}");
        for capacity in [Amount::ZERO, Amount::from_micros(1), Amount::ONE, LARGEST, Amount::MAX] {
            let error = Limit::token_bucket("limit", capacity, rate);
            assert!(matches!(error, Err(LimitError::RateTooFine { .. })), "{capacity}: {error:?}");
        }
    }
    // The finest that a bucket of nothing takes: it exceeds, and nothing overflows.
    let period = Span::from_nanos((1 << 53) - 1);
    let rate = Rate::per(Amount::from_micros(1_000_001), period).expect("a rate");
    assert_eq!(rate.den(), (1 << 53) - 1);
    let limit = Limit::token_bucket("limit", Amount::ZERO, rate).expect("a limit");
    agrees_with_the_model(limit, LATE);
}

/// The largest limits of every algorithm, over the shortest and the longest windows, the slowest and
/// the fastest rates.
fn largest() -> Vec<Limit> {
    let mut limits = Vec::new();
    for window in [Span::from_millis(1), Span::from_secs(1), Span::from_secs(3_650 * 86_400)] {
        let windowed = every_algorithm(LARGEST, window, per_second(1)).into_iter().skip(1);
        limits.extend(windowed.map(|limit| limit.expect("the largest fits")));
    }
    let yearly = Rate::per(Amount::ONE, YEAR).expect("a rate");
    for rate in [yearly, per_second(1), per_second(7), per_second(1_000_000_000)] {
        let most = Amount::from_micros(((1 << 53) - 1) / (2 * rate.den()));
        let next = Amount::from_micros(most.as_micros() + 1);
        assert!(Limit::token_bucket("limit", next, rate).is_err(), "{next} at {rate}");
        limits.push(Limit::token_bucket("limit", most, rate).expect("the largest fits"));
    }
    limits
}

/// P34: neither a full charge, nor debt, nor a silence of years overflows, from now to the year 2500.
#[test]
fn largest_limits_work_at_their_ends() {
    for limit in largest() {
        // A slow bucket of this size takes longer to fill than time goes on after the year 2500.
        if limit.algorithm().window() < Span::from_secs(20 * 365 * 86_400) {
            agrees_with_the_model(limit.clone(), LATE);
        }
        agrees_with_the_model(limit, DAY);
    }
}

/// Plays the ends of a limit on the memory store and on the exact model.
fn agrees_with_the_model(limit: Limit, start: Timestamp) {
    let max = limit.algorithm().max();
    let policy = Policy::new("ends", [limit]).expect("a policy");
    let (rig, mut oracle) = (MemoryRig::new(), Oracle::new(Span::from_nanos(1)));
    let mut now = start;
    let mut ask = |now: Timestamp, mode: Mode, cost: Cost| -> Decision {
        rig.set_time(now);
        let check = Check::take(Key::new("k").expect("a key"), &policy, cost).with_mode(mode);
        let expected = oracle.take(now, &[check]);
        let verdict = rig.block_on(Store::take(rig.store(), &[check])).expect("memory answers");
        assert_eq!(verdict.decisions(), expected.decisions(), "{mode:?} {cost} of {policy:?}");
        verdict.decisions()[0]
    };
    let all = max.max(Amount::from_micros(1));
    let more = Amount::from_micros(all.as_micros() + 1);
    for silence in
        [Span::from_nanos(1), Span::from_secs(43_200), YEAR, Span::from_secs(20 * 365 * 86_400)]
    {
        for cost in [all, Amount::from_micros(1), more, Amount::MAX] {
            ask(now, Mode::Take, cost);
        }
        for cost in [all, Amount::MAX] {
            ask(now, Mode::Debit, cost);
        }
        if let Some(wait) = ask(now, Mode::Peek, Amount::from_micros(1)).retry_after {
            ask(now + wait - Span::from_nanos(1), Mode::Peek, Amount::from_micros(1));
            ask(now + wait, Mode::Peek, Amount::from_micros(1));
        }
        now = now + silence;
    }
}

/// P33: twice the limit is offered for five seconds to limits of which one unit comes in within a
/// nanosecond to an eighth of a millisecond; what passes is within a hundredth of the limit.
#[test]
fn sustained_overload_passes_the_limit_and_no_more() {
    const STEP: Span = Span::from_micros(250);
    for rate in [8_000, 1_000_000, 1_000_000_000_u64] {
        let (max, second) = (Amount::from_units(rate), Span::from_secs(1));
        for limit in every_algorithm(max, second, per_second(rate)).into_iter().take(2) {
            let policy = Policy::new("busy", [limit.expect("a limit")]).expect("a policy");
            let rig = MemoryRig::new();
            let take = |units: u64| {
                let key = Key::new("k").expect("a key");
                let check = Check::take(key, &policy, Cost::from_units(units));
                rig.store().take_one(&check).is_allowed()
            };
            // What a full bucket has is not sustained.
            rig.set_time(DAY - STEP);
            assert!(take(rate));
            // Twice what comes in: in fours of one unit at 8000 a second, of more at higher rates.
            let (mut now, mut passed, cost) = (DAY, 0, rate / 8_000);
            while now < DAY + Span::from_secs(5) {
                rig.set_time(now);
                passed += (0..4).filter(|_| take(cost)).count() as u64 * cost;
                now = now + STEP;
            }
            let limit = 5 * rate;
            assert!(passed <= limit && passed >= limit - limit / 100, "{passed} of {policy:?}");
        }
    }
}
