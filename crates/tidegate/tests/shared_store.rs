//! Several limiters over one store, and what is left when the last is gone.

use std::sync::Arc;
use std::time::Duration;

use tidegate::{Cost, Key, Limit, Limiter, MemoryStore, Policy, Store};
use tidegate_testkit::block_on_ready;

fn policy(name: &str) -> Policy {
    Policy::new(name, [Limit::quota("burst", "2/hour").expect("a limit")]).expect("a policy")
}

#[test]
fn limiters_over_one_store_are_kept_apart_by_the_names_of_their_policies() {
    let store = MemoryStore::new();
    let api = Limiter::new(store.clone(), policy("api"));
    let login = Limiter::new(store.clone(), policy("login"));
    let again = Limiter::new(store.clone(), policy("api"));
    let passes =
        |limiter: &Limiter<MemoryStore>| limiter.check("alice").expect("a key").is_allowed();
    assert!(passes(&api) && passes(&again));
    assert!(!passes(&api) && !passes(&again), "one policy is one count, whoever asks");
    assert!(passes(&login) && passes(&login) && !passes(&login));
    assert_eq!(store.len(), 2);
}

/// Takes one unit as code does that is generic over stores.
fn passes<S: Store>(limiter: &Limiter<S>) -> bool {
    let key = Key::new("alice").expect("a key");
    block_on_ready(limiter.check_async(key, Cost::ONE)).expect("memory answers").is_allowed()
}

#[test]
fn a_store_is_one_store_behind_any_pointer() {
    let store = Arc::new(MemoryStore::new());
    assert!(passes(&Limiter::new(Arc::clone(&store), policy("api"))));
    assert!(passes(&Limiter::new(&store, policy("api"))));
    assert!(!passes(&Limiter::new(&*store, policy("api"))));
}

/// How many threads of this process sweep.
fn sweepers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads of this process");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    let names = tasks.filter_map(Result::ok).map(name).filter_map(Result::ok);
    names.filter(|name| name.trim() == "tidegate-sweep").count()
}

/// Waits until the number of sweeping threads is as wanted: threads start and end in their own time.
fn wait_until(wanted: impl Fn(usize) -> bool) {
    for _ in 0..500 {
        if wanted(sweepers()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} threads sweep", sweepers());
}

/// Other tests of this process have stores too, but few: so a hundred are made here.
#[test]
fn a_dropped_store_leaves_no_thread_behind() {
    let stores: Vec<MemoryStore> = (0..100).map(|_| MemoryStore::new()).collect();
    wait_until(|sweepers| sweepers >= 100);
    let clones = stores.clone();
    drop(stores);
    std::thread::sleep(Duration::from_millis(300));
    assert!(sweepers() >= 100, "a clone keeps its store alive");
    drop(clones);
    wait_until(|sweepers| sweepers < 10);
}
