//! What the memory store gives back to the machine: a process of its own, so that nothing else weighs.

use std::ops::Range;
use std::process::Command;
use std::sync::Arc;

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

/// Has the allocator give back at once what is freed, rather than when it next thinks of it.
const AT_ONCE: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");

/// P54 (a): five million keys, each seen once; a minute later none is held, and the memory is given back.
#[test]
fn five_million_idle_keys_are_given_back() {
    let this = std::env::current_exe().expect("this program");
    let mut again = Command::new(this);
    again.args(["--exact", "weigh_five_million_keys", "--ignored", "--nocapture"]);
    let output = again.env(AT_ONCE.0, AT_ONCE.1).output().expect("this program runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// The same, in a process that says when it gives back.
#[test]
#[ignore = "a part of five_million_idle_keys_are_given_back, which starts it"]
fn weigh_five_million_keys() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(20_000 * 86_400)));
    let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
    let five = Amount::from_units(5);
    let rate = Rate::per(five, Span::from_secs(1)).expect("a rate");
    let limit = Limit::token_bucket("limit", five, rate).expect("a limit");
    let policy = Policy::new("policy", [limit]).expect("a policy");
    let meet = |keys: Range<u32>| {
        for number in keys {
            let name = number.to_le_bytes();
            let check = Check::take(Key::new(&name).expect("a key"), &policy, Cost::ONE);
            assert!(store.take_one(&check).is_allowed());
        }
    };
    let forget = || {
        clock.advance(Span::from_secs(60));
        store.sweep();
        assert_eq!(store.len(), 0);
    };
    // A first round brings in the program's own pages, which are no key's.
    meet(0..10_000);
    forget();
    let start = resident();
    meet(0..5_000_000);
    assert_eq!(store.len(), 5_000_000);
    let held = resident();
    assert!(held > start + 100_000, "they weigh something: {start} kB, then {held} kB");
    forget();
    let rest = resident();
    // Of a process of 4 MB, 30 % are less than the pages of code and of the allocator's own books that a
    // round can touch anew: a hundredth of what the keys took is as good as all given back.
    let slack = (start * 3 / 10).max((held - start) / 100);
    assert!(rest <= start + slack, "{start} kB, then {held} kB, at last {rest} kB");
    println!("{start} kB, then {held} kB, at last {rest} kB");
}
