//! What every store is held to: the suite, the exact model, and the facts taken from other limiters.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tidegate::{ManualClock, Span, Timestamp};
use tidegate_redis::RedisStore;
use tidegate_testkit::{RedisServer, Rig, scenario, suite, vectors};
use tokio::runtime::{Builder, Runtime};

use crate::fixture::with_clock;

/// A store with a server, a clock and a runtime of its own.
struct RedisRig {
    _server: RedisServer,
    store: RedisStore,
    clock: Arc<ManualClock>,
    runtime: Runtime,
}

impl RedisRig {
    fn new() -> RedisRig {
        let (server, store, clock) = with_clock();
        RedisRig {
            _server: server,
            store,
            clock,
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }
}

impl Rig for RedisRig {
    type Store = RedisStore;

    fn store(&self) -> &RedisStore {
        &self.store
    }

    fn set_time(&self, now: Timestamp) {
        self.clock.set(now);
    }

    fn tick(&self) -> Span {
        Span::from_micros(1)
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

#[test]
fn redis_shows_every_behaviour() {
    suite::run(&RedisRig::new());
}

#[test]
fn redis_agrees_with_the_vectors() {
    let report = vectors::play(&RedisRig::new(), &vectors::directory());
    println!("{report}");
    report.assert_holds();
}

/// P53: any limits, costs, modes and times, also with the clock set back.
#[test]
fn redis_agrees_with_the_model() {
    let rig = RedisRig::new();
    let settings =
        ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() };
    let cases = Cell::new(0);
    let played = TestRunner::new(settings).run(&scenario::any(1..40), |scenario| {
        // Keys that no other case has used.
        cases.set(cases.get() + 1);
        scenario.play(&rig, &format!("case {}", cases.get())).map_err(TestCaseError::fail)
    });
    played.unwrap();
}
