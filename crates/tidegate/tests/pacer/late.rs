//! A store whose answers take a while, as those over a network do.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

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
    /// From then on it only fails.
    gone_at: Timestamp,
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

impl Late {
    fn answer<T: Send + 'static>(&self, answer: T) -> Answer<T> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let sleep = self.timer.sleep(self.delay);
        let is_away = self.timer.now() >= self.gone_at;
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
    gone_at(policy, delay, Timestamp::from_nanos(u64::MAX))
}

/// The same, where the store is gone from some time on.
fn gone_at(policy: &Policy, delay: Span, gone_at: Timestamp) -> (Driver<Late>, Memory) {
    let (memory, timer) = virtual_time();
    let late = Late {
        memory: memory.clone(),
        timer: timer.clone(),
        delay,
        calls: Arc::default(),
        gone_at,
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
    let gone = START + Span::from_millis(500);
    let (driver, _) = gone_at(&policy, Span::from_millis(50), gone);
    let (ends, _) = driver.play(&vec![Visitor::of(Cost::ONE); 20]);
    // The second asks when its wait is over, a second after the answer to the first.
    let told = START + Span::from_millis(1_100);
    for end in &ends[1..] {
        let End::Refused(at, PaceError::Store(_)) = end else { panic!("{end:?}") };
        assert_eq!(*at, told);
    }
}

/// Somebody leaves while the question is on its way: what it took is back before the next one's wait
/// would have been over, and the next one passes then.
#[test]
fn what_is_given_back_wakes_the_first_in_line() {
    let policy = Policy::new("p", [Limit::quota("l", "1/day").unwrap()]).unwrap();
    let leaves = |millis| Some(millis * 1_000_000_u64);
    for pause in [5_000_000, 35_000_000, 55_000_000] {
        let (driver, _) = at_a_distance(&policy, Span::from_millis(30));
        let (ends, _) = driver.play(&[
            Visitor { leaves: leaves(10), ..Visitor::of(Cost::ONE) },
            Visitor { pause, ..Visitor::of(Cost::ONE) },
        ]);
        let End::Passed(at) = ends[1] else { panic!("{ends:?}") };
        assert!(at.since(START) <= Span::from_millis(150), "{pause}: {}", at.since(START));
    }
}

/// A grant that nobody fetched goes back: of two asked for together the second leaves before it looks.
#[test]
fn a_grant_that_is_not_fetched_is_given_back() {
    let policy = Policy::new(
        "p",
        [Limit::fixed_window("l", Amount::from_units(3), Span::from_secs(60)).unwrap()],
    );
    let policy = policy.unwrap();
    let (driver, memory) = at_a_distance(&policy, Span::from_millis(10));
    let (pacer, timer) = (driver.pacer.clone(), driver.pacer.timer().clone());
    let key = Key::new("k").unwrap();
    timer.block_on(pacer.until_ready(key, Cost::from_units(3))).unwrap();
    let mut waiting: Vec<Pin<Box<dyn Future<Output = _>>>> =
        (0..3).map(|_| Box::pin(pacer.until_ready(key, Cost::ONE)) as _).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = |one: &mut Pin<Box<dyn Future<Output = _>>>| one.as_mut().poll(&mut context);
    while poll(&mut waiting[0]).is_pending() {
        assert!(waiting[1..].iter_mut().all(|one| poll(one).is_pending()));
        timer.advance_to(timer.next_wake().unwrap());
    }
    // The window is over, and the first has passed.
    drop(waiting.remove(0));
    assert!(waiting.iter_mut().all(|one| poll(one).is_pending()));
    let peek = Check::peek(key, &policy, Cost::ZERO);
    assert_eq!(memory.take_one(&peek).remaining, Amount::ZERO, "both are asked for together");
    timer.advance_to(timer.next_wake().unwrap());
    assert!(poll(&mut waiting[0]).is_ready());
    drop(waiting.remove(1));
    assert_eq!(memory.take_one(&peek).remaining, Amount::ONE);
    assert_eq!(pacer.waiting(), 0);
}
