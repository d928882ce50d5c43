//! What the memory store gives back to the machine: a process of its own, so that nothing else weighs.

use std::sync::Arc;
use std::time::Duration;

use tidegate::{
    Amount, Check, Cost, Key, Limit, ManualClock, MemoryConfig, MemoryStore, Policy, Rate, Span,
    Timestamp,
};

/// The service's allocator. The C library's keeps what was freed between pieces that are in use.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The process's resident kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its size");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

/// P54 (a): a million keys, each seen once; a minute later none is held, and the memory is given back.
#[test]
fn million_idle_keys_are_given_back() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(20_000 * 86_400)));
    let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
    let five = Amount::from_units(5);
    let rate = Rate::per(five, Span::from_secs(1)).expect("a rate");
    let limit = Limit::token_bucket("limit", five, rate).expect("a limit");
    let policy = Policy::new("policy", [limit]).expect("a policy");
    let start = resident();
    let take = |keys: u32| {
        for number in 0..keys {
            let name = number.to_le_bytes();
            let check = Check::take(Key::new(&name).expect("a key"), &policy, Cost::ONE);
            assert!(store.take_one(&check).is_allowed());
        }
    };
    take(1_000_000);
    assert_eq!(store.len(), 1_000_000);
    let held = resident();
    assert!(held > start + 20_000, "a million keys weigh something: {start} kB, then {held} kB");
    clock.advance(Span::from_secs(60));
    store.sweep();
    assert_eq!(store.len(), 0);
    // The allocator gives back a little later, and on the way of other requests.
    let mut rest = resident();
    for _ in 0..100 {
        if rest <= start + start * 3 / 10 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        take(1_000);
        clock.advance(Span::from_secs(60));
        store.sweep();
        rest = resident();
    }
    assert!(rest <= start + start * 3 / 10, "{start} kB, then {held} kB, at last {rest} kB");
}
