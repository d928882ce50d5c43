//! Threads on a small store whose every place is fought for, given back and taken again, while another
//! thread sweeps: what passes is exactly what the model lets pass.
//!
//! Time stands while the threads ask and goes on while they wait for each other, so that how many
//! pass does not depend on who came first.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use tidegate::{
    Amount, Check, Cost, Key, Limit, ManualClock, MemoryConfig, MemoryStore, Overflow, Policy,
    Rate, Span, Timestamp,
};
use tidegate_testkit::oracle::Oracle;

const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);
const MINUTE: Span = Span::from_secs(60);
const THREADS: usize = 8;
/// How often each thread asks for each key while time stands.
const ASKS: usize = 2;
/// What each key may: fewer than the threads ask for.
const MAX: Amount = Amount::from_units(5);

/// How many seconds go by before each round: after the first of them every key is back to full.
const STEPS: [u64; 4] = [130, 7, 20, 45];

type Store = MemoryStore<Arc<ManualClock>>;

fn store(max_keys: usize, overflow: Overflow) -> (Arc<ManualClock>, Store) {
    let clock = Arc::new(ManualClock::new(START));
    let config = MemoryConfig { max_keys, overflow, shards: Some(1) };
    (clock.clone(), MemoryStore::with_clock(config, clock))
}

fn bucket() -> Limit {
    let rate = Rate::per(MAX, MINUTE).expect("a rate");
    Limit::token_bucket("bucket", MAX, rate).expect("a limit")
}

/// Every algorithm alone, two of them together, and one with a spacing.
fn policies() -> Vec<Policy> {
    let windows = [
        Limit::fixed_window("fixed", MAX, MINUTE),
        Limit::fixed_window_from_first("first", MAX, MINUTE),
        Limit::rolling_window("rolling", MAX, MINUTE),
        Limit::sliding_window("sliding", MAX, MINUTE),
    ]
    .map(|limit| limit.expect("a limit"));
    let spaced = bucket().with_min_interval(Span::from_secs(20)).expect("a spacing");
    let both = vec![bucket(), windows[2].clone()];
    let alone = windows.into_iter().chain([bucket(), spaced]).map(|limit| vec![limit]);
    alone.chain([both]).map(|limits| Policy::new("contended", limits).expect("a policy")).collect()
}

fn names(keys: Range<usize>) -> Vec<String> {
    keys.map(|key| format!("key-{key}")).collect()
}

fn ask<'a>(name: &'a str, policy: &'a Policy) -> Check<'a> {
    Check::take(Key::new(name).expect("a key"), policy, Cost::ONE)
}

/// Has all threads ask for all keys, each from another one on, and counts what passed of each key.
fn fight(store: &Store, policy: &Policy, keys: &[String]) -> Vec<usize> {
    let passed: Vec<AtomicUsize> = keys.iter().map(|_| AtomicUsize::new(0)).collect();
    let gate = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (passed, gate) = (&passed, &gate);
            scope.spawn(move || {
                gate.wait();
                for step in 0..keys.len() * ASKS {
                    let place = (thread * keys.len() / THREADS + step) % keys.len();
                    let allowed = store.take_one(&ask(&keys[place], policy)).is_allowed();
                    passed[place].fetch_add(usize::from(allowed), Ordering::Relaxed);
                }
            });
        }
    });
    passed.into_iter().map(AtomicUsize::into_inner).collect()
}

/// Tells when it is dropped, also by a test that fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Sweeps until told to end, and has keys of its own come and go, which must find a full state each time.
fn disturb(store: &Store, policy: &Policy, ended: &AtomicBool) {
    let mut round = 0;
    while !ended.load(Ordering::Relaxed) {
        store.sweep();
        let name = format!("passing-{}", round % 7);
        let check = ask(&name, policy);
        assert!(store.take_one(&check).is_allowed(), "{name} was reset before");
        store.reset(&[check]);
        round += 1;
    }
}

/// P10, P54: in each of many rounds other keys come, those of earlier rounds are back to full, or half
/// way, and their places are taken again; each key passes exactly as often as the model says, and is
/// left with exactly what the model says.
#[test]
fn contended_and_reclaimed_keys_get_exactly_what_the_model_gives() {
    for policy in policies() {
        let (clock, store) = store(4_096, Overflow::Shared);
        let (mut model, mut now) = (Oracle::new(Span::from_nanos(1)), START);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| disturb(&store, &policy, &ended));
            let _ends = Ends(&ended);
            for round in 0..20 {
                now = now + Span::from_secs(STEPS[round % STEPS.len()]);
                clock.set(now);
                if round % STEPS.len() == 0 {
                    store.sweep();
                    assert!(store.len() <= 1, "all but one that passes by are back to full");
                }
                let keys = names(round * 12 % 60..round * 12 % 60 + 24);
                let passed = fight(&store, &policy, &keys);
                for (name, passed) in keys.iter().zip(passed) {
                    let check = ask(name, &policy);
                    // After one denial come only denials, as time stands.
                    let allows = |_: &usize| model.take(now, &[check]).is_allowed();
                    let expected = (0..THREADS * ASKS).take_while(allows).count();
                    assert_eq!(passed, expected, "{name} in round {round} of {policy:?}");
                    let look = check.with_mode(tidegate::Mode::Peek);
                    let left = store.take_one(&look);
                    assert_eq!(
                        left,
                        model.take(now, &[look]).decisions()[0],
                        "{name} of {policy:?}"
                    );
                }
            }
        });
        assert_eq!(store.overflowed(), 0);
        clock.advance(Span::from_secs(3_600));
        store.sweep();
        assert_eq!(store.len(), 0, "{policy:?}");
    }
}

/// P10, P54: in a store that is exactly as large as the keys that come, every place is taken in each
/// round and given back after it: none may be lost, or the last key finds no room.
#[test]
fn every_place_of_a_full_store_is_used_again() {
    for policy in policies() {
        let (clock, store) = store(48, Overflow::Deny);
        let each = if policy.limits()[0].min_interval().is_some() { 1 } else { 5 };
        for round in 0..40 {
            // No key comes twice in a row, so each finds its place only where another was.
            let keys = names(round % 3 * 48..(round % 3 + 1) * 48);
            let passed = fight(&store, &policy, &keys);
            assert_eq!(passed, [each; 48], "round {round} of {policy:?}");
            assert_eq!(store.len(), 48);
            clock.advance(Span::from_secs(180));
            store.sweep();
            assert_eq!(store.len(), 0, "round {round} of {policy:?}");
        }
        assert_eq!(store.overflowed(), 0);
    }
}

/// P10, P54: more keys than the store has room for: which of them find room is chance, but as many as
/// there is room for do, each of those gets its limit, and the others nothing.
#[test]
fn more_keys_than_room_fill_it_exactly() {
    for policy in policies() {
        let (clock, store) = store(32, Overflow::Deny);
        let each = if policy.limits()[0].min_interval().is_some() { 1 } else { 5 };
        for round in 0..40 {
            let mut passed = fight(&store, &policy, &names(round..round + 96));
            passed.sort_unstable();
            let expected = [[0; 64].as_slice(), &[each; 32]].concat();
            assert_eq!(passed, expected, "round {round} of {policy:?}");
            assert_eq!(store.len(), 32);
            clock.advance(Span::from_secs(180));
            store.sweep();
        }
        assert!(store.overflowed() > 0);
    }
}

/// P10, P54: the same where the shared states count those that find no room, with no sweep but what the
/// need for room brings about: no key gets more than the model that was charged the same, in any round.
#[test]
fn fight_for_room_never_over_admits() {
    for policy in policies() {
        let (clock, store) = store(32, Overflow::Shared);
        let (mut model, mut now, mut total) = (Oracle::new(Span::from_nanos(1)), START, 0);
        for round in 0..16 {
            now = now + Span::from_secs(STEPS[round % STEPS.len()]);
            clock.set(now);
            let keys = names(round * 5 % 40..round * 5 % 40 + 48);
            let passed = fight(&store, &policy, &keys);
            assert!(store.len() <= 32);
            total += passed.iter().sum::<usize>();
            for (name, passed) in keys.iter().zip(passed) {
                let takes = (0..passed).map(|_| model.take(now, &[ask(name, &policy)]));
                let could = takes.filter(tidegate::Verdict::is_allowed).count();
                assert_eq!(could, passed, "{name} got too many in round {round} of {policy:?}");
            }
        }
        assert!(store.overflowed() > 0 && total >= 32);
    }
}
