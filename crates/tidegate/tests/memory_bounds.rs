//! The memory store stays within its bound, whatever comes, and forgets nobody who is over a limit.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tidegate::{
    Amount, Check, Cost, Decision, Key, KeyError, Limit, ManualClock, MemoryConfig, MemoryStore,
    Overflow, Policy, Rate, Span, Timestamp,
};
use tidegate_testkit::oracle::Oracle;

const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);
const STANCES: [Overflow; 3] = [Overflow::Shared, Overflow::Deny, Overflow::Allow];

struct Flooded {
    clock: Arc<ManualClock>,
    store: MemoryStore<Arc<ManualClock>>,
    policy: Policy,
}

impl Flooded {
    fn new(max_keys: usize, overflow: Overflow, limit: Limit) -> Flooded {
        let clock = Arc::new(ManualClock::new(START));
        let config = MemoryConfig { max_keys, overflow, ..MemoryConfig::default() };
        Flooded {
            store: MemoryStore::with_clock(config, clock.clone()),
            clock,
            policy: Policy::new("flood", [limit]).expect("a policy"),
        }
    }

    /// Takes one unit for each of so many keys.
    fn fill(&self, keys: usize) {
        for n in 0..keys {
            self.take(&format!("fill-{n}"));
        }
    }

    fn take(&self, key: &str) -> Decision {
        let key = Key::new(key).expect("a key");
        self.store.take_one(&Check::take(key, &self.policy, Cost::ONE))
    }
}

/// Limits of every algorithm: so much an hour.
fn every_algorithm(max: u64) -> [Limit; 5] {
    let (max, hour) = (Amount::from_units(max), Span::from_secs(3_600));
    [
        Limit::token_bucket("limit", max, Rate::per(max, hour).expect("a rate")),
        Limit::fixed_window("limit", max, hour),
        Limit::fixed_window_from_first("limit", max, hour),
        Limit::rolling_window("limit", max, hour),
        Limit::sliding_window("limit", max, hour),
    ]
    .map(|limit| limit.expect("a limit"))
}

/// P54: ten times as many keys as there is room for; never more held than that.
#[test]
fn flood_never_holds_more_than_max_keys() {
    for overflow in STANCES {
        for max_keys in [1, 100, 10_000] {
            let [limit, ..] = every_algorithm(5);
            let flooded = Flooded::new(max_keys, overflow, limit);
            for n in 0..max_keys * 10 {
                flooded.take(&format!("flood-{n}"));
                assert!(flooded.store.len() <= max_keys, "{overflow:?}");
            }
            assert_eq!(flooded.store.len(), max_keys, "{overflow:?}");
            assert!(flooded.store.overflowed() > 0);
        }
    }
}

/// P54: a limit of one an hour asked twice is allowed and denied, before, during and after a flood.
#[test]
fn key_over_its_limit_stays_denied_through_a_flood() {
    for overflow in STANCES {
        for max_keys in [1, 10_000] {
            for limit in every_algorithm(1) {
                let flooded = Flooded::new(max_keys, overflow, limit);
                assert!(flooded.take("victim").is_allowed());
                assert!(!flooded.take("victim").is_allowed());
                for n in 0..max_keys + 2_000 {
                    flooded.take(&format!("flood-{n}"));
                    if n % 1_000 == 0 {
                        assert!(!flooded.take("victim").is_allowed(), "{overflow:?}");
                    }
                }
                assert!(!flooded.take("victim").is_allowed(), "{overflow:?} {max_keys}");
            }
        }
    }
}

/// P54: a new key in a full store gets what the stance says, and with `shared` no more than its limit.
#[test]
fn overflow_stance_decides_for_new_keys() {
    for (overflow, expected) in [
        (Overflow::Shared, [true, false, false]),
        (Overflow::Deny, [false, false, false]),
        (Overflow::Allow, [true, true, true]),
    ] {
        for max_keys in [1, 10_000] {
            for limit in every_algorithm(1) {
                let flooded = Flooded::new(max_keys, overflow, limit);
                flooded.fill(max_keys);
                let got = [0; 3].map(|_| flooded.take("new").is_allowed());
                assert_eq!(got, expected, "{overflow:?} of {:?}", flooded.policy);
                assert_eq!(flooded.store.len(), max_keys);
            }
        }
    }
}

/// P54: without traffic a sweep finds every key back to full and drops it.
#[test]
fn keys_back_to_full_are_dropped() {
    for limit in every_algorithm(5) {
        let flooded = Flooded::new(100_000, Overflow::Shared, limit);
        flooded.fill(20_000);
        assert_eq!(flooded.store.len(), 20_000);
        flooded.store.sweep();
        assert_eq!(flooded.store.len(), 20_000, "{:?}", flooded.policy);
        flooded.clock.advance(Span::from_secs(7_200));
        flooded.store.sweep();
        assert_eq!(flooded.store.len(), 0, "{:?}", flooded.policy);
        assert!(flooded.store.is_empty());
    }
}

/// P54, P38: a clock that steps back by hours keeps no idle key for longer than a full refill.
#[test]
fn step_back_does_not_keep_idle_keys() {
    for back in [Span::from_secs(20), Span::from_secs(8 * 3_600)] {
        for limit in every_algorithm(5) {
            let flooded = Flooded::new(100_000, Overflow::Shared, limit);
            flooded.fill(5_000);
            flooded.store.sweep();
            flooded.clock.set(START - back);
            flooded.store.sweep();
            // Two windows are what a sliding window takes to be full, and a second is what a clock
            // may be late.
            flooded.clock.advance(Span::from_secs(7_201));
            flooded.store.sweep();
            assert_eq!(flooded.store.len(), 0, "{back} back: {:?}", flooded.policy);
        }
    }
}

/// P54: a store on the machine's clock drops what is back to full by itself, with no traffic.
#[test]
fn idle_keys_are_dropped_without_traffic() {
    let limit = Limit::quota("limit", "100/s burst 1").expect("a limit");
    let policy = Policy::new("policy", [limit]).expect("a policy");
    let store = MemoryStore::new();
    let mut held = 0;
    for n in 0..10_000_u32 {
        let name = n.to_le_bytes();
        let check = Check::take(Key::new(&name).expect("a key"), &policy, Cost::ONE);
        assert!(store.take_one(&check).is_allowed());
        held = held.max(store.len());
    }
    assert!(held > 100, "{held}");
    // Every shard is visited about once a second.
    let empty = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        store.is_empty()
    });
    assert!(empty, "{} keys are held after ten seconds", store.len());
}

/// P54: keys that came to the shared states, and those that come back when there is room again, are
/// limited as before.
#[test]
fn room_that_comes_back_is_used_again() {
    let [bucket, ..] = every_algorithm(1);
    let flooded = Flooded::new(1, Overflow::Shared, bucket);
    assert!(flooded.take("first").is_allowed());
    flooded.clock.advance(Span::from_secs(1_800));
    assert!(flooded.take("second").is_allowed());
    flooded.clock.advance(Span::from_secs(1_800));
    // The first key is full again, the second is not, wherever it is counted.
    let denied = flooded.take("second");
    assert_eq!(denied.retry_after, Some(Span::from_secs(1_800)));
    flooded.clock.advance(Span::from_secs(1_800));
    // Without a sweep it depends on the shards that the keys fell into whether room is found.
    flooded.store.sweep();
    assert_eq!(flooded.store.len(), 0);
    assert!(flooded.take("second").is_allowed());
    assert!(!flooded.take("second").is_allowed());
    assert_eq!(flooded.store.len(), 1);
}

/// P38: a clock that steps back while a key is in the shared states does not lock it out for longer
/// than elsewhere.
#[test]
fn step_back_does_not_lock_out_of_the_shared_states() {
    for limit in every_algorithm(1) {
        let flooded = Flooded::new(1, Overflow::Shared, limit);
        flooded.clock.advance(Span::from_secs(86_400));
        flooded.fill(1);
        assert!(flooded.take("shared").is_allowed());
        flooded.clock.set(START);
        assert!(!flooded.take("shared").is_allowed());
        // Two windows are what a sliding window takes to be full.
        flooded.clock.advance(Span::from_secs(7_200));
        assert!(flooded.take("shared").is_allowed(), "{:?}", flooded.policy);
    }
}

/// P54: a flood that charges the shared states far beyond the limit does not push out what a single
/// key has used: each of 4000 keys gets one an hour.
#[test]
fn flood_in_the_shared_states_does_not_refill_a_key() {
    for limit in every_algorithm(1) {
        let flooded = Flooded::new(1, Overflow::Shared, limit);
        let mut alone = Oracle::new(Span::from_nanos(1));
        for round in 0..4_u64 {
            for n in 0..4_000_u64 {
                let now = START + Span::from_millis(round * 1_700_000 + n * 400);
                flooded.clock.set(now);
                let name = format!("key-{n}");
                let check =
                    Check::take(Key::new(&name).expect("a key"), &flooded.policy, Cost::ONE);
                if flooded.store.take_one(&check).is_allowed() {
                    let could = alone.take(now, &[check]);
                    assert!(could.is_allowed(), "{name} in round {round}: {:?}", flooded.policy);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// P54: whatever the table and the shared states do with a key, it never gets more than it would
    /// get alone: whenever the store allows, so does the model that was charged the same.
    #[test]
    fn shared_overflow_never_over_admits(
        algorithm in 0_usize..5,
        max_keys in prop_oneof![Just(1_usize), 2_usize..6],
        asks in prop::collection::vec((0_usize..12, 0_u64..2_000, any::<bool>()), 1..200),
    ) {
        let limit = every_algorithm(3)[algorithm].clone();
        let flooded = Flooded::new(max_keys, Overflow::Shared, limit);
        let mut alone = Oracle::new(Span::from_nanos(1));
        for (key, pause, sweep) in asks {
            flooded.clock.advance(Span::from_secs(pause));
            if sweep {
                flooded.store.sweep();
            }
            let name = format!("key-{key}");
            let check = Check::take(Key::new(&name).expect("a key"), &flooded.policy, Cost::ONE);
            let decision = flooded.store.take_one(&check);
            prop_assert!(flooded.store.len() <= max_keys);
            let now = tidegate::Clock::now(&flooded.clock);
            let could = alone.take(now, &[check.with_mode(tidegate::Mode::Peek)]).decisions()[0];
            prop_assert!(could.is_allowed() || !decision.is_allowed(), "{name} got one too many");
            prop_assert!(decision.remaining <= could.remaining);
            if decision.is_allowed() {
                alone.take(now, &[check]);
            }
        }
    }
}

/// P51: keys of every length that differ in the last byte alone are two keys.
#[test]
fn long_keys_are_told_apart_by_their_last_byte() {
    let [limit, ..] = every_algorithm(1);
    let flooded = Flooded::new(10_000, Overflow::Shared, limit);
    for len in 1..=1_024 {
        for last in [0_u8, 1, 255] {
            let mut bytes = vec![b'k'; len];
            bytes[len - 1] = last;
            let key = Key::new(&bytes).expect("1 to 1024 bytes");
            let check = Check::take(key, &flooded.policy, Cost::ONE);
            assert!(flooded.store.take_one(&check).is_allowed(), "{len} bytes, {last}");
            assert!(!flooded.store.take_one(&check).is_allowed());
        }
    }
}

/// P51: ten thousand of the longest keys, alike but for four bytes, are as many keys.
#[test]
fn many_long_keys_are_all_told_apart() {
    let [limit, ..] = every_algorithm(1);
    let flooded = Flooded::new(10_000, Overflow::Deny, limit);
    let mut bytes = vec![b'k'; 1_024];
    for expected in [true, false] {
        for n in 0..10_000_u32 {
            bytes[1_020..].copy_from_slice(&n.to_le_bytes());
            let key = Key::new(&bytes).expect("1024 bytes");
            let decision = flooded.store.take_one(&Check::take(key, &flooded.policy, Cost::ONE));
            assert_eq!(decision.is_allowed(), expected, "{n}");
        }
    }
    assert_eq!(flooded.store.len(), 10_000);
}

/// P51: no key is empty, and none is longer than 1024 bytes.
#[test]
fn keys_out_of_bounds_are_refused() {
    assert_eq!(Key::new(&[0; 0]), Err(KeyError::Empty));
    for len in [1_025, 65_536, 1 << 20] {
        assert_eq!(Key::new(&vec![b'k'; len]), Err(KeyError::TooLong { len }));
    }
}
