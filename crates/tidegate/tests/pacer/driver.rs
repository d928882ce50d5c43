//! Many who wait, in virtual time: arrivals, cancellations and sleeps happen in their order.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tidegate::{
    Check, Cost, Decision, Key, ManualClock, ManualTimer, MemoryConfig, MemoryStore, PaceError,
    Pacer, Policy, Span, Store, Timer, Timestamp,
};
use tidegate_testkit::oracle::Oracle;

/// Where the clock starts: the start of a day.
pub(crate) const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);

/// A store in memory on a clock of the test's.
pub(crate) type Memory = MemoryStore<Arc<ManualClock>>;

pub(crate) fn virtual_time() -> (Memory, ManualTimer) {
    let clock = Arc::new(ManualClock::new(START));
    let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
    (store, ManualTimer::new(clock))
}

/// One who comes to wait.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Nanoseconds after the one before.
    pub(crate) pause: u64,
    pub(crate) key: &'static str,
    pub(crate) cost: Cost,
    pub(crate) patience: Option<Span>,
    /// After how many nanoseconds it goes away, if it does.
    pub(crate) leaves: Option<u64>,
}

impl Visitor {
    pub(crate) fn of(cost: Cost) -> Visitor {
        Visitor { pause: 0, key: "k", cost, patience: None, leaves: None }
    }
}

/// How a visit ended, and when.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    Passed(Timestamp),
    Refused(Timestamp, PaceError),
    Left,
}

type Visit = Pin<Box<dyn Future<Output = Result<Decision, PaceError>> + Send>>;

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct Task {
    visit: Option<Visit>,
    woken: Arc<Flag>,
    leaves: Option<Timestamp>,
    end: Option<End>,
}

/// Everybody who came, in the order in which they came.
pub(crate) struct Driver<S: Store + 'static> {
    pub(crate) pacer: Pacer<S, ManualTimer>,
    tasks: Vec<Task>,
    /// The visitors in the order in which they passed.
    pub(crate) passed: Vec<usize>,
    /// How often a future was polled.
    pub(crate) polls: usize,
}

impl<S: Store + 'static> Driver<S> {
    pub(crate) fn new(pacer: Pacer<S, ManualTimer>) -> Driver<S> {
        Driver { pacer, tasks: Vec::new(), passed: Vec::new(), polls: 0 }
    }

    fn timer(&self) -> &ManualTimer {
        self.pacer.timer()
    }

    /// Lets all visitors come, each in its time, and waits until all are served or gone.
    pub(crate) fn play(mut self, visitors: &[Visitor]) -> (Vec<End>, Driver<S>) {
        let mut at = START;
        for visitor in visitors {
            at = at + Span::from_nanos(visitor.pause);
            self.run_until(at);
            self.arrive(visitor);
        }
        self.run_until(Timestamp::from_nanos(u64::MAX));
        let ends = self.tasks.iter().map(|task| task.end.clone().expect("an end")).collect();
        (ends, self)
    }

    fn arrive(&mut self, visitor: &Visitor) {
        let key = Key::new(visitor.key).unwrap();
        let visit: Visit = match visitor.patience {
            Some(patience) => Box::pin(self.pacer.until_ready_within(key, visitor.cost, patience)),
            None => Box::pin(self.pacer.until_ready(key, visitor.cost)),
        };
        let leaves = visitor.leaves.map(|after| self.timer().now() + Span::from_nanos(after));
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        self.tasks.push(Task { visit: Some(visit), woken, leaves, end: None });
        self.settle();
    }

    /// Goes through all that happens up to and at `end`: at each instant sleepers wake first, then
    /// those go who wanted to go then.
    fn run_until(&mut self, end: Timestamp) {
        loop {
            let leaves = self.tasks.iter().filter(|task| task.visit.is_some());
            let leaves = leaves.filter_map(|task| task.leaves).min();
            let next = leaves.into_iter().chain(self.timer().next_wake()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.move_to(next);
            for place in 0..self.tasks.len() {
                if self.tasks[place].visit.is_some() && self.tasks[place].leaves == Some(next) {
                    self.tasks[place].visit = None;
                    self.tasks[place].end = Some(End::Left);
                    self.settle();
                }
            }
        }
        if end < Timestamp::from_nanos(u64::MAX) {
            self.move_to(end);
        }
    }

    fn move_to(&mut self, now: Timestamp) {
        self.timer().advance_to(now);
        self.settle();
    }

    /// Polls who was woken until nobody is.
    fn settle(&mut self) {
        loop {
            self.timer().run_errands();
            let woken =
                |task: &Task| task.visit.is_some() && task.woken.0.swap(false, Ordering::SeqCst);
            let Some(place) = self.tasks.iter().position(woken) else { return };
            self.polls += 1;
            let task = &mut self.tasks[place];
            let waker = Waker::from(Arc::clone(&task.woken));
            let visit = task.visit.as_mut().unwrap().as_mut();
            if let Poll::Ready(result) = visit.poll(&mut Context::from_waker(&waker)) {
                let now = self.pacer.timer().now();
                task.visit = None;
                task.end = Some(match result {
                    Ok(decision) => {
                        assert!(decision.is_allowed());
                        self.passed.push(place);
                        End::Passed(now)
                    }
                    Err(error) => End::Refused(now, error),
                });
            }
        }
    }
}

/// When each visitor passes at best, if all are served in their order and nothing is wasted; none
/// where one leaves before.
pub(crate) fn at_best(policy: &Policy, visitors: &[Visitor]) -> Vec<Option<Timestamp>> {
    let mut oracle = Oracle::new(Span::from_nanos(1));
    let mut at = START;
    let mut free = std::collections::HashMap::new();
    let mut serve = |visitor: &Visitor| {
        at = at + Span::from_nanos(visitor.pause);
        let leaves = visitor.leaves.map(|after| at + Span::from_nanos(after));
        let check = Check::take(Key::new(visitor.key).unwrap(), policy, visitor.cost);
        let free = free.entry(visitor.key).or_insert(START);
        let mut now = at.max(*free);
        loop {
            if leaves.is_some_and(|leaves| now > leaves) {
                // It held up the others until then, if it was first by then.
                *free = leaves.unwrap().max(*free);
                return None;
            }
            match oracle.take(now, &[check]).decisions()[0].retry_after {
                Some(wait) => now = now + wait,
                None => break,
            }
        }
        *free = now;
        Some(now)
    };
    visitors.iter().map(&mut serve).collect()
}
