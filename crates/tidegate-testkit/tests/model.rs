//! The model itself shows every behaviour and agrees with every vector, at the ticks of both stores.

use std::future::{Future, Ready, ready};
use std::sync::{Mutex, PoisonError};

use tidegate::{Check, Clock, ManualClock, Span, Store, StoreError, Timestamp, Verdict};
use tidegate_testkit::oracle::Oracle;
use tidegate_testkit::{Rig, block_on_ready, suite, vectors};

/// The model as a store.
struct Model {
    clock: ManualClock,
    oracle: Mutex<Oracle>,
}

impl Model {
    fn with<T>(
        &self,
        ask: impl FnOnce(&mut Oracle, Timestamp) -> T,
    ) -> Ready<Result<T, StoreError>> {
        let mut oracle = self.oracle.lock().unwrap_or_else(PoisonError::into_inner);
        ready(Ok(ask(&mut oracle, self.clock.now())))
    }
}

impl Store for Model {
    type Take = Ready<Result<Verdict, StoreError>>;
    type Done = Ready<Result<(), StoreError>>;

    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        self.with(|oracle, now| oracle.take(now, checks))
    }

    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        self.with(|oracle, now| oracle.take_each(now, checks))
    }

    fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Self::Done {
        self.with(|oracle, now| oracle.refund(now, checks, taken_at))
    }

    fn reset(&self, checks: &[Check<'_>]) -> Self::Done {
        self.with(|oracle, _| oracle.reset(checks))
    }
}

struct ModelRig {
    tick: Span,
    store: Model,
}

impl ModelRig {
    fn new(tick: Span) -> ModelRig {
        let store = Model { clock: ManualClock::default(), oracle: Mutex::new(Oracle::new(tick)) };
        ModelRig { tick, store }
    }
}

impl Rig for ModelRig {
    type Store = Model;

    fn store(&self) -> &Model {
        &self.store
    }

    fn set_time(&self, now: Timestamp) {
        self.store.clock.set(now);
    }

    fn tick(&self) -> Span {
        self.tick
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on_ready(future)
    }
}

/// At the coarser tick: the finer one is that of the memory store, which is held to both.
#[test]
fn model_shows_every_behaviour() {
    suite::run(&ModelRig::new(Span::from_micros(1)));
}

#[test]
fn model_agrees_with_the_vectors() {
    for tick in [Span::from_nanos(1), Span::from_micros(1)] {
        vectors::play(&ModelRig::new(tick), &vectors::directory()).assert_holds();
    }
}
