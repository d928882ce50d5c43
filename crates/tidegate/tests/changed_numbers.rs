//! What a change of a policy's numbers leaves of what was used, in memory.

use std::sync::Arc;

use tidegate::{
    Amount, Check, Cost, Key, Limit, ManualClock, MemoryConfig, MemoryStore, Policy, Rate, Span,
    Timestamp,
};

fn store() -> (MemoryStore<Arc<ManualClock>>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_000_000 * 3_600)));
    (MemoryStore::with_clock(MemoryConfig::default(), Arc::clone(&clock)), clock)
}

fn policy(limit: Limit) -> Policy {
    Policy::new("p", [limit]).expect("a policy")
}

fn bucket(capacity: u64, count: u64, secs: u64) -> Policy {
    let rate = Rate::per(Amount::from_units(count), Span::from_secs(secs)).expect("a rate");
    policy(Limit::token_bucket("l", Amount::from_units(capacity), rate).expect("a limit"))
}

fn hourly(window: Span) -> Policy {
    policy(Limit::fixed_window("l", Amount::from_units(5), window).expect("a limit"))
}

fn alice(policy: &Policy, units: u64) -> Check<'_> {
    Check::take(Key::new("alice").expect("a key"), policy, Amount::from_units(units))
}

#[test]
fn a_longer_window_is_not_forgotten_at_the_end_of_the_shorter() {
    let (store, clock) = store();
    assert!(store.take_one(&alice(&hourly(Span::from_secs(60)), 5)).is_allowed());
    let longer = hourly(Span::from_secs(3_600));
    assert!(!store.take_one(&alice(&longer, 1)).is_allowed());
    clock.advance(Span::from_secs(61));
    store.sweep();
    assert!(!store.take_one(&alice(&longer, 1)).is_allowed());
}

#[test]
fn a_slower_rate_is_not_forgotten_when_the_faster_would_be_full() {
    let (store, clock) = store();
    assert!(store.take_one(&alice(&bucket(10, 10, 1), 10)).is_allowed());
    let slower = bucket(10, 1, 60);
    assert!(!store.take_one(&alice(&slower, 1)).is_allowed());
    clock.advance(Span::from_secs(2));
    store.sweep();
    assert!(!store.take_one(&alice(&slower, 1)).is_allowed());
}

#[test]
fn a_bucket_lowered_and_raised_again_owes_what_it_owed() {
    let (store, _clock) = store();
    let (large, small) = (bucket(12, 1, 7), bucket(3, 1, 70));
    assert!(store.take_one(&alice(&large, 12)).is_allowed());
    assert!(!store.take_one(&alice(&small, 1)).is_allowed());
    assert!(!store.take_one(&alice(&large, 1)).is_allowed());
    let seen = store.take_one(&Check::peek(Key::new("alice").expect("a key"), &large, Cost::ZERO));
    assert_eq!((seen.remaining, seen.reset_after), (Amount::ZERO, Span::from_secs(84)));
}

#[test]
fn idle_keys_are_given_back_after_a_clock_that_was_set_back_before_the_first_sweep() {
    let (store, clock) = store();
    assert!(store.take_one(&alice(&bucket(10, 10, 60), 10)).is_allowed());
    clock.set(Timestamp::from_secs((1_000_000 - 8) * 3_600));
    store.sweep();
    assert_eq!(store.len(), 1);
    clock.advance(Span::from_secs(61));
    store.sweep();
    assert!(store.is_empty());
}
