//! A question on its way to the store, and what becomes of its answer when nobody waits for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use smallvec::SmallVec;

use super::Desk;
use super::lines::{Grant, Rider, Riders};
use crate::check::Check;
use crate::decision::Verdict;
use crate::key::Key;
use crate::observer::Stopwatch;
use crate::store::{Store, StoreError};
use crate::time::Timestamp;
use crate::timer::Timer;

/// Asks the store for those it is for, all or nothing. Dropped before the answer it is seen to its
/// end by the timer, so that what it took is given back.
pub(super) struct Flight<S: Store + 'static, T: Timer> {
    landing: Option<Landing<S, T>>,
    take: Option<Pin<Box<S::Take>>>,
    started: Option<Stopwatch>,
}

/// What is to be done with the answer.
struct Landing<S: Store + 'static, T: Timer> {
    desk: Arc<Desk<S, T>>,
    key: Arc<[u8]>,
    riders: Riders,
    /// Whether they stand in line, or one asks who found nobody there.
    in_line: bool,
    is_answered: bool,
}

impl<S: Store + 'static, T: Timer> Flight<S, T> {
    pub(super) fn new(
        desk: &Arc<Desk<S, T>>,
        key: &Arc<[u8]>,
        riders: Riders,
        in_line: bool,
    ) -> Flight<S, T> {
        let (desk, key) = (Arc::clone(desk), Arc::clone(key));
        let landing = Landing { desk, key, riders, in_line, is_answered: false };
        Flight { landing: Some(landing), take: None, started: None }
    }
}

impl<S: Store + 'static, T: Timer> Future for Flight<S, T> {
    type Output = Result<Verdict, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let flight = &mut *self;
        let Some(landing) = &flight.landing else { return Poll::Pending };
        let is_first = flight.take.is_none();
        if is_first {
            flight.started = landing.desk.watch.start();
        }
        let take = flight.take.get_or_insert_with(|| Box::pin(landing.ask()));
        let Poll::Ready(answer) = take.as_mut().poll(context) else { return Poll::Pending };
        flight.take = None;
        if let Some(landing) = flight.landing.take() {
            landing.tell(flight.started, &answer);
            landing.land(&answer, is_first, false);
        }
        Poll::Ready(answer)
    }
}

impl<S: Store + 'static, T: Timer> Drop for Flight<S, T> {
    fn drop(&mut self) {
        if let (Some(take), Some(landing)) = (self.take.take(), self.landing.take()) {
            let (desk, started) = (Arc::clone(&landing.desk), self.started);
            desk.timer.finish(Box::pin(async move {
                let answer = take.await;
                landing.tell(started, &answer);
                landing.land(&answer, false, true);
            }));
        }
    }
}

impl<S: Store + 'static, T: Timer> Landing<S, T> {
    fn ask(&self) -> S::Take {
        self.desk.store.take(&self.desk.checks(&self.key, &self.riders))
    }

    fn tell(&self, started: Option<Stopwatch>, answer: &Result<Verdict, StoreError>) {
        if let Some(started) = started {
            let checks = self.desk.checks(&self.key, &self.riders);
            self.desk.watch.tell(started, &checks, answer.as_ref());
        }
    }

    /// Gives the answer to those it is for, and back what was taken for those who are gone.
    fn land(mut self, answer: &Result<Verdict, StoreError>, at_once: bool, abandoned: bool) {
        self.is_answered = true;
        let desk = &self.desk;
        let now = desk.timer.now();
        let gone = if self.in_line {
            let mut lines = desk.lines.lock();
            let (gone, wake) = lines.land(&self.key, &self.riders, answer, at_once, now);
            drop(lines);
            wake.into_iter().for_each(std::task::Waker::wake);
            gone
        } else if abandoned {
            self.riders.clone()
        } else {
            Riders::new()
        };
        if let Ok(verdict) = answer
            && verdict.is_allowed()
        {
            Desk::give_back(desk, &self.key, &gone, verdict.at());
        }
    }
}

/// An answer that will never come must not keep the line waiting.
impl<S: Store + 'static, T: Timer> Drop for Landing<S, T> {
    fn drop(&mut self) {
        if self.in_line && !self.is_answered {
            let waker = self.desk.lines.lock().unask(&self.key, self.desk.timer.now());
            waker.into_iter().for_each(std::task::Waker::wake);
        }
    }
}

impl<S: Store + 'static, T: Timer> Desk<S, T> {
    /// The store's questions for these.
    fn checks<'a>(&'a self, key: &'a [u8], riders: &[Rider]) -> SmallVec<[Check<'a>; 4]> {
        // The bytes came out of a key.
        let key = Key::new(key).ok();
        let check = |(key, rider): (Key<'a>, &Rider)| Check::take(key, &self.policy, rider.cost);
        key.into_iter().flat_map(|key| riders.iter().map(move |r| (key, r))).map(check).collect()
    }

    /// Gives back what was taken for one who never fetched it.
    pub(super) fn give_back_grant(desk: &Arc<Self>, key: &Arc<[u8]>, rider: Rider, grant: &Grant) {
        Desk::give_back(desk, key, &[rider], grant.at);
    }

    fn give_back(desk: &Arc<Self>, key: &Arc<[u8]>, riders: &[Rider], taken_at: Timestamp) {
        if riders.is_empty() {
            return;
        }
        let done = desk.store.refund(&desk.checks(key, riders), taken_at);
        let (keep, key) = (Arc::clone(desk), Arc::clone(key));
        desk.timer.finish(Box::pin(async move {
            // A store that cannot take it back keeps it: then less passes, never more.
            let _ = done.await;
            let waker = keep.lines.lock().nudge(&key);
            waker.into_iter().for_each(std::task::Waker::wake);
        }));
    }
}
