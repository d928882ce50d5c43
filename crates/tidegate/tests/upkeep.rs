//! What a store does beside answering, growing and sweeping, is not seen in its answers. How long it
//! takes is measured by `compare/run-latency.sh`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tidegate::{
    Amount, Check, Cost, Key, Limit, ManualClock, MemoryConfig, MemoryStore, Policy, Span,
    Timestamp,
};

const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);

type Store = MemoryStore<Arc<ManualClock>>;

fn store() -> (Arc<ManualClock>, Store) {
    let clock = Arc::new(ManualClock::new(START));
    (clock.clone(), MemoryStore::with_clock(MemoryConfig::default(), clock))
}

fn window(name: &str, max: u64, length: Span) -> Policy {
    let limit = Limit::fixed_window("window", Amount::from_units(max), length).expect("a limit");
    Policy::new(name, [limit]).expect("a policy")
}

fn passes(store: &Store, policy: &Policy, name: &str) -> bool {
    let key = Key::new(name).expect("a key");
    store.take_one(&Check::take(key, policy, Cost::ONE)).is_allowed()
}

/// P57: of many keys one half expires, a part of it at each of five sweeps, while eight threads ask for
/// hot keys: those get exactly their limit, and the other half is still limited.
#[test]
fn sweeps_that_drop_half_of_the_keys_disturb_nobody() {
    const HALF: usize = 100_000;
    let (clock, store) = store();
    let hour = window("hour", 1, Span::from_secs(3_600));
    let hot = window("hot", 1_000, Span::from_secs(86_400));
    let soon: Vec<Policy> = (1..=5).map(|n| window("soon", 1, Span::from_secs(30 * n))).collect();
    for n in 0..HALF {
        assert!(passes(&store, &soon[n % 5], &format!("soon-{n}")));
        assert!(passes(&store, &hour, &format!("stays-{n}")));
    }
    assert_eq!(store.len(), 2 * HALF);
    let passed: [AtomicUsize; 4] = Default::default();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for step in 0..4 * 1_000 {
                    let allowed = passes(&store, &hot, &format!("hot-{}", step % 4));
                    passed[step % 4].fetch_add(usize::from(allowed), Ordering::Relaxed);
                }
            });
        }
        for sweep in 1..=5 {
            clock.advance(Span::from_secs(31));
            store.sweep();
            assert!((0..4).all(|n| !passes(&store, &hour, &format!("stays-{}", n * 7 + sweep))));
        }
    });
    assert_eq!(passed.map(AtomicUsize::into_inner), [1_000; 4]);
    assert_eq!(store.len(), HALF + 4, "all that was over is gone, and nothing else");
    assert!((0..HALF).all(|n| !passes(&store, &hour, &format!("stays-{n}"))));
}

/// P84: while live keys grow from a hundred thousand to a million, each new one passes once, and those
/// that were there stay limited.
#[test]
fn growth_to_a_million_keys_is_not_seen_in_the_answers() {
    const FROM: usize = 100_000;
    let (clock, store) = store();
    let day = window("day", 1, Span::from_secs(86_400));
    for n in 0..1_000_000 {
        assert!(passes(&store, &day, &format!("key-{n}")), "key {n}");
        if n >= FROM && n.is_multiple_of(10) {
            let known = n * 7 % FROM;
            assert!(!passes(&store, &day, &format!("key-{known}")), "key {known} at {n}");
            clock.advance(Span::from_micros(10));
        }
    }
    assert_eq!((store.len(), store.overflowed()), (1_000_000, 0));
}
