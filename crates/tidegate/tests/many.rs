//! Batches of checks that are decided each on its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate::{
    Clock, Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Span, Timestamp,
};

/// A clock that counts how often it is read.
struct Counted {
    time: ManualClock,
    reads: AtomicU64,
}

impl Clock for Counted {
    fn now(&self) -> Timestamp {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.time.now()
    }
}

fn limiter(limits: &[&str]) -> (Arc<Counted>, Limiter<MemoryStore<Arc<Counted>>>) {
    let time = ManualClock::new(Timestamp::from_secs(1_000_000));
    let clock = Arc::new(Counted { time, reads: AtomicU64::new(0) });
    let store = MemoryStore::with_clock(MemoryConfig::default(), Arc::clone(&clock));
    let limits = limits.iter().enumerate();
    let limits = limits.map(|(n, quota)| Limit::quota(&format!("limit{n}"), quota));
    let limits: Vec<Limit> = limits.collect::<Result<_, _>>().expect("limits");
    (clock, Limiter::new(store, Policy::new("api", limits).expect("a policy")))
}

/// 1,000 keys of which many come several times, in batches that are no multiple of what is fetched
/// ahead, with keys that the store has not seen and, later, has forgotten.
#[test]
fn a_batch_decides_as_single_checks_do_and_reads_the_clock_once() {
    for limits in [&["3/minute"][..], &["3/minute", "10/hour"]] {
        let (clock, many) = limiter(limits);
        let (other, single) = limiter(limits);
        for round in 0_u64..20 {
            let keys: Vec<String> =
                (0..50 + round).map(|n| format!("user:{}", n * n * (round + 7) % 101)).collect();
            let before = clock.reads.load(Ordering::Relaxed);
            let decisions = many.check_many(&keys).expect("keys");
            assert_eq!(clock.reads.load(Ordering::Relaxed), before + 1);
            let singly: Vec<_> = keys.iter().map(|key| single.check(key).expect("a key")).collect();
            assert_eq!(decisions, singly);
            for clock in [&clock, &other] {
                clock.time.advance(Span::from_secs(round * 9));
            }
            many.store().sweep();
        }
    }
}

#[test]
fn a_batch_with_a_bad_key_takes_nothing() {
    let (_, limiter) = limiter(&["1/hour"]);
    assert!(limiter.check_many(&["alice", ""]).is_err());
    assert!(limiter.check("alice").expect("a key").is_allowed());
    assert_eq!(limiter.check_many(&[] as &[&str]), Ok(Vec::new()));
}
