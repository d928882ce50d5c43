//! Threads that race for one key, or for many: never one too many, never one too few.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use tidegate::{
    Amount, Check, Cost, Key, Limit, ManualClock, MemoryConfig, MemoryStore, Policy, Rate, Span,
    Timestamp,
};

/// Noon of a day, so that no window ends during a test.
const NOON: Timestamp = Timestamp::from_secs(20_000 * 86_400 + 43_200);
const DAY: Span = Span::from_secs(86_400);

fn store() -> MemoryStore<ManualClock> {
    MemoryStore::with_clock(MemoryConfig::default(), ManualClock::new(NOON))
}

/// One limit of every algorithm: so much a day.
fn every_algorithm(max: Amount) -> [Policy; 5] {
    let rate = Rate::per(max, DAY).expect("a rate");
    [
        Limit::token_bucket("bucket", max, rate),
        Limit::fixed_window("fixed", max, DAY),
        Limit::fixed_window_from_first("first", max, DAY),
        Limit::rolling_window("rolling", max, DAY),
        Limit::sliding_window("sliding", max, DAY),
    ]
    .map(|limit| Policy::new("race", [limit.expect("a limit")]).expect("a policy"))
}

/// How many pass when so many threads, released together, each run `work` to count what it got.
fn race(threads: usize, work: impl Fn() -> usize + Sync) -> usize {
    let (passed, gate) = (AtomicUsize::new(0), Barrier::new(threads));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                gate.wait();
                passed.fetch_add(work(), Ordering::Relaxed);
            });
        }
    });
    passed.into_inner()
}

/// P10: the key is made by the race itself; of 10,048 requests exactly 1000 pass, every time.
fn exactly_a_thousand_pass(limit: Result<Limit, tidegate::LimitError>) {
    let policy = Policy::new("race", [limit.expect("a limit")]).expect("a policy");
    for _ in 0..20 {
        let store = store();
        let check = Check::take(Key::new("hot").expect("a key"), &policy, Cost::ONE);
        let passed = race(64, || {
            let passes = |_: &usize| store.take_one(&check).is_allowed();
            (0..157).filter(passes).count()
        });
        assert_eq!(passed, 1_000);
    }
}

/// P10.
#[test]
fn sixty_four_threads_get_exactly_a_fixed_window() {
    exactly_a_thousand_pass(Limit::fixed_window("day", Amount::from_units(1_000), DAY));
}

/// P10.
#[test]
fn sixty_four_threads_get_exactly_a_rolling_window() {
    exactly_a_thousand_pass(Limit::rolling_window("day", Amount::from_units(1_000), DAY));
}

/// P10 (e): the race goes on across the edges of five windows, each of which is asked for far more
/// than it holds.
#[test]
fn racing_threads_get_exactly_each_fixed_window() {
    let limit = Limit::fixed_window("second", Amount::from_units(1_000), Span::from_secs(1));
    let policy = Policy::new("race", [limit.expect("a limit")]).expect("a policy");
    for _ in 0..3 {
        let passed = race_across_windows(&policy);
        assert_eq!(passed.iter().sum::<usize>(), 5_000, "{passed:?}");
        // A thread that read its time just before an edge may be counted after it.
        assert!(passed.iter().all(|passed| passed.abs_diff(1_000) <= RACERS), "{passed:?}");
    }
}

const RACERS: usize = 4;

/// Has threads ask for one key while a clock goes on for five seconds, a tenth at a time; how many
/// passed in each second.
fn race_across_windows(policy: &Policy) -> [usize; 5] {
    let clock = Arc::new(ManualClock::new(NOON));
    let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
    let check = Check::take(Key::new("hot").expect("a key"), policy, Cost::ONE);
    let asked: [AtomicUsize; RACERS] = Default::default();
    let (passed, ended): ([AtomicUsize; 5], _) = (Default::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        for asked in &asked {
            let (store, passed, ended) = (&store, &passed, &ended);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let verdict = store.take(&[check]);
                    let second = verdict.at().since(NOON).as_nanos() / 1_000_000_000;
                    let second = usize::try_from(second).expect("one of five");
                    passed[second].fetch_add(usize::from(verdict.is_allowed()), Ordering::Relaxed);
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for tenth in 0..50 {
            clock.set(NOON + Span::from_millis(100 * tenth));
            // Each thread asks 100 times or more in each tenth, so none is late by a second.
            for asked in &asked {
                let enough = asked.load(Ordering::Relaxed) + 100;
                while asked.load(Ordering::Relaxed) < enough {
                    thread::yield_now();
                }
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    passed.map(AtomicUsize::into_inner)
}

/// P85: four threads ask each of 10,000 fresh keys once; each key passes exactly one of them.
#[test]
fn fresh_keys_of_limit_one_pass_exactly_once() {
    let keys: Vec<String> = (0..10_000).map(|n| format!("key-{n}")).collect();
    for policy in every_algorithm(Amount::ONE) {
        let store = store();
        let passed = race(4, || {
            let passes = |key: &&String| {
                let key = Key::new(key.as_str()).expect("a key");
                store.take_one(&Check::take(key, &policy, Cost::ONE)).is_allowed()
            };
            keys.iter().filter(passes).count()
        });
        assert_eq!(passed, 10_000, "{policy:?}");
    }
}

/// P13 under a race: two keys in one request, in either order, stay equally charged.
#[test]
fn racing_batches_take_all_or_nothing() {
    for policy in every_algorithm(Amount::from_units(500)) {
        let store = store();
        let check = |name| Check::take(Key::new(name).expect("a key"), &policy, Cost::ONE);
        let (ab, ba) = ([check("a"), check("b")], [check("b"), check("a")]);
        let passed = race(8, || {
            let passes = |n: &usize| {
                let batch = if n.is_multiple_of(2) { &ab } else { &ba };
                store.take(batch).is_allowed()
            };
            (0..100).filter(passes).count()
        });
        assert_eq!(passed, 500, "{policy:?}");
        for name in ["a", "b"] {
            let look = Check::peek(Key::new(name).expect("a key"), &policy, Cost::ZERO);
            assert_eq!(store.take_one(&look).remaining, Amount::ZERO, "{policy:?}");
        }
    }
}

/// P85 with the table full: four threads ask each of 4000 keys; none passes twice, and the bound on
/// keys holds all the while.
#[test]
fn racing_keys_in_the_shared_states_pass_at_most_once() {
    let keys: Vec<String> = (0..4_000).map(|n| format!("key-{n}")).collect();
    for policy in every_algorithm(Amount::ONE) {
        let config = MemoryConfig { max_keys: 100, ..MemoryConfig::default() };
        let store = MemoryStore::with_clock(config, ManualClock::new(NOON));
        let passes: Vec<AtomicUsize> = keys.iter().map(|_| AtomicUsize::new(0)).collect();
        race(4, || {
            for (key, passes) in keys.iter().zip(&passes) {
                let key = Key::new(key.as_str()).expect("a key");
                let decision = store.take_one(&Check::take(key, &policy, Cost::ONE));
                passes.fetch_add(usize::from(decision.is_allowed()), Ordering::Relaxed);
                assert!(store.len() <= 100);
            }
            0
        });
        let most = passes.iter().map(|passes| passes.load(Ordering::Relaxed)).max();
        assert_eq!(most, Some(1), "{policy:?}");
    }
}
