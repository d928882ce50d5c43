//! A store whose answers take a while, as those over a network do.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use proptest::prelude::*;
use tidegate::{
    Amount, Check, Cost, Key, Limit, Limiter, ManualTimer, PaceError, Policy, Span, Store,
    StoreError, StoreErrorKind, Timer, Timestamp, Verdict,
};

use crate::driver::{Driver, End, Memory, START, Visitor, virtual_time};

/// The store in memory, at a distance. What it is asked happens at once; the answer is late.
struct Late {
    memory: Memory,
    timer: ManualTimer,
    delay: Span,
    calls: Arc<AtomicUsize>,
    is_away: Arc<AtomicBool>,
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

impl Late {
    fn answer<T: Send + 'static>(&self, answer: T) -> Answer<T> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let sleep = self.timer.sleep(self.delay);
        let is_away = self.is_away.load(Ordering::SeqCst);
        Box::pin(async move {
            sleep.await;
            let error = || StoreError::new(StoreErrorKind::Unavailable, "away");
            if is_away { Err(error()) } else { Ok(answer) }
        })
    }
}

impl Store for Late {
    type Take = Answer<Verdict>;
    type Done = Answer<()>;

    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        self.answer(self.memory.take(checks))
    }

    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        self.answer(self.memory.take_each(checks))
    }

    fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Self::Done {
        self.memory.refund(checks, taken_at);
        self.answer(())
    }

    fn reset(&self, checks: &[Check<'_>]) -> Self::Done {
        self.memory.reset(checks);
        self.answer(())
    }
}

/// A driver over a store that is `delay` away, and the store itself.
fn at_a_distance(policy: &Policy, delay: Span) -> (Driver<Late>, Memory) {
    let (memory, timer) = virtual_time();
    let late = Late {
        memory: memory.clone(),
        timer: timer.clone(),
        delay,
        calls: Arc::default(),
        is_away: Arc::default(),
    };
    (Driver::new(Limiter::new(late, policy.clone()).pacer(timer)), memory)
}

fn visitor() -> impl Strategy<Value = Visitor> {
    let pause = prop_oneof![1 => Just(0_u64), 1 => 1_u64..40_000_000];
    let leaves = prop_oneof![1 => Just(None), 2 => (1_u64..400_000_000).prop_map(Some)];
    let patience = prop::option::of((0_u64..400).prop_map(Span::from_millis));
    (pause, 1_u64..=3_000_000, leaves, patience).prop_map(|(pause, cost, leaves, patience)| {
        Visitor { pause, leaves, patience, ..Visitor::of(Cost::from_micros(cost)) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whenever a future is dropped, also with its question on the way or its grant not yet fetched,
    /// what is used in the end is what those took who passed.
    #[test]
    fn a_dropped_future_takes_nothing_even_while_its_answer_is_on_the_way(
        visitors in prop::collection::vec(visitor(), 1..60),
    ) {
        // A limit that denies now and then, and another that remembers everything.
        let burst = Limit::quota("burst", "40/s burst 5").unwrap();
        let all = Limit::fixed_window("all", Amount::from_units(1_000), Span::from_secs(86_400));
        let policy = Policy::new("p", [burst, all.unwrap()]).unwrap();
        let (driver, memory) = at_a_distance(&policy, Span::from_millis(30));
        let (ends, driver) = driver.play(&visitors);
        prop_assert_eq!(driver.pacer.waiting(), 0);
        let took = |(visitor, end): (&Visitor, &End)| match end {
            End::Passed(_) => visitor.cost.as_micros(),
            End::Left | End::Refused(..) => 0,
        };
        let used: u64 = visitors.iter().zip(&ends).map(took).sum();
        let rest = Policy::new("p", [policy.limits()[1].clone()]).unwrap();
        let peek = Check::peek(Key::new("k").unwrap(), &rest, Cost::ZERO);
        let remaining = memory.take_one(&peek).remaining;
        prop_assert_eq!(remaining.as_micros(), 1_000_000_000 - used);
    }

    /// Of those who wait the first come pass first, also when several are asked for together.
    #[test]
    fn the_order_is_kept_at_a_distance(count in 1_usize..100, delay in 1_u64..50) {
        let policy = Policy::new("p", [Limit::quota("l", "100/s burst 10").unwrap()]).unwrap();
        let (driver, _) = at_a_distance(&policy, Span::from_millis(delay));
        let (_, driver) = driver.play(&vec![Visitor::of(Cost::ONE); count]);
        prop_assert_eq!(driver.passed, (0..count).collect::<Vec<_>>());
    }
}

/// P08: a line does not drain at one a round trip.
#[test]
fn a_hot_key_keeps_the_rate_of_its_limit_over_a_slow_link() {
    let policy = Policy::new("p", [Limit::quota("l", "1000/s burst 100").unwrap()]).unwrap();
    let (driver, _) = at_a_distance(&policy, Span::from_millis(50));
    let (ends, driver) = driver.play(&vec![Visitor::of(Cost::ONE); 1_000]);
    let Some(End::Passed(last)) = ends.last() else { panic!("{:?}", ends.last()) };
    // 900 ms by the limit. One each round trip would take 45 s.
    assert!(last.since(START) < Span::from_millis(2_500), "{}", last.since(START));
    let calls = driver.pacer.store().calls.load(Ordering::SeqCst);
    assert!(calls < 1_000 + 100, "{calls} calls");
}

#[test]
fn newcomers_do_not_wait_for_each_others_answers() {
    let policy = Policy::new("p", [Limit::quota("l", "1000/s").unwrap()]).unwrap();
    let (driver, _) = at_a_distance(&policy, Span::from_millis(50));
    let (ends, _) = driver.play(&vec![Visitor::of(Cost::ONE); 200]);
    let one_trip = End::Passed(START + Span::from_millis(50));
    assert!(ends.iter().all(|end| *end == one_trip));
}

/// P01: a store that is away is heard of by all who wait, at once, and not one after the other.
#[test]
fn when_the_store_fails_everybody_in_line_is_told() {
    let policy = Policy::new("p", [Limit::quota("l", "1/s").unwrap()]).unwrap();
    let (driver, _) = at_a_distance(&policy, Span::from_millis(50));
    let is_away = driver.pacer.store().is_away.clone();
    let mut visitors = vec![Visitor::of(Cost::ONE); 20];
    visitors.push(Visitor { key: "other", pause: 500_000_000, ..Visitor::of(Cost::ONE) });
    let timer = driver.pacer.timer().clone();
    let (ends, _) = std::thread::scope(|_| {
        // The first passes; the rest stand in line when the store goes away.
        let pacer = driver.pacer.clone();
        timer.block_on(pacer.until_ready(Key::new("k").unwrap(), Cost::ONE)).unwrap();
        is_away.store(true, Ordering::SeqCst);
        driver.play(&visitors)
    });
    for end in &ends {
        let End::Refused(at, PaceError::Store(_)) = end else { panic!("{end:?}") };
        assert!(at.since(START) <= Span::from_secs(2), "{end:?}");
    }
}
