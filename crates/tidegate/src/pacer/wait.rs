//! One who waits: from the first question to the turn that passes.

use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};

use smallvec::smallvec;

use super::flight::Flight;
use super::lines::{Rider, Turn};
use super::outlook::{least_wait, most_at_once};
use super::{Desk, Manners, PaceError, Pacer};
use crate::amount::{Amount, Cost};
use crate::check::Check;
use crate::decision::{Decision, Outcome};
use crate::key::Key;
use crate::store::Store;
use crate::time::{Span, Timestamp};
use crate::timer::Timer;

/// What a store that says "wait" without a time is asked after, so that it is not asked without end.
const LEAST_REST: Span = Span::from_millis(1);

/// One who waits. Dropping it leaves the line.
pub(super) struct Wait<S: Store + 'static, T: Timer> {
    desk: Arc<Desk<S, T>>,
    manners: Manners,
    key: Arc<[u8]>,
    rider: Rider,
    patience: Option<Span>,
    deadline: Option<Timestamp>,
    in_line: bool,
    /// How often something had been given back when it last asked.
    seen: u64,
}

impl<S: Store + 'static, T: Timer> Wait<S, T> {
    pub(super) fn new(
        pacer: &Pacer<S, T>,
        key: Key<'_>,
        cost: Cost,
        patience: Option<Span>,
    ) -> Wait<S, T> {
        Wait {
            desk: Arc::clone(&pacer.desk),
            manners: pacer.manners,
            key: key.as_bytes().into(),
            rider: Rider { ticket: 0, cost },
            patience,
            deadline: None,
            in_line: false,
            seen: 0,
        }
    }

    pub(super) async fn run(mut self) -> Result<Decision, PaceError> {
        let limit = most_at_once(&self.desk.policy);
        if self.rider.cost > limit {
            return Err(PaceError::Exceeds { cost: self.rider.cost, limit });
        }
        // Relaxed: tickets need only be in the order in which one thread saw another's.
        self.rider.ticket = self.desk.next.fetch_add(1, Ordering::Relaxed);
        self.deadline = self.patience.map(|patience| self.desk.timer.now() + patience);
        let mut told = None;
        if self.is_open() {
            match self.ask_directly().await? {
                (Some(decision), _) => return Ok(decision),
                (None, wait) => told = Some(wait),
            }
        }
        if let Some(wait) = told {
            self.in_time(wait)?;
        }
        self.enter()?;
        self.look_ahead().await?;
        loop {
            if let Some(wait) = told.take() {
                self.rest(wait).await?;
            }
            match self.turn().await? {
                Turn::Over(landed) => return Ok(landed?.decision),
                Turn::Pause(left) => told = Some(left),
                Turn::Ask(riders) => {
                    let is_alone = riders.len() == 1;
                    let answer = Flight::new(&self.desk, &self.key, riders, true).await;
                    // A refused group took nothing; its first asks again, for itself.
                    if let (true, Ok(verdict)) = (is_alone, &answer) {
                        told = verdict.decisions().first().map(|d| self.refused(d)).transpose()?;
                    }
                }
                Turn::Wait => {}
            }
        }
    }

    /// Whether nobody stands before, so that asking at once is fair.
    fn is_open(&mut self) -> bool {
        let lines = self.desk.lines.lock();
        self.seen = lines.given_back();
        // A cost of nothing takes nothing from anybody.
        lines.is_empty()
            || self.rider.cost.is_zero()
            || lines.is_open(&self.key, self.desk.timer.now())
    }

    /// Asks without standing in line. Gives the decision when it passed, else the wait.
    async fn ask_directly(&self) -> Result<(Option<Decision>, Span), PaceError> {
        let verdict = Flight::new(&self.desk, &self.key, smallvec![self.rider], false).await?;
        match verdict.decisions() {
            [decision, ..] if !decision.is_allowed() => Ok((None, self.refused(decision)?)),
            [decision, ..] => Ok((Some(*decision), Span::ZERO)),
            [] => Ok((None, LEAST_REST)),
        }
    }

    /// How long to wait after this decision.
    fn refused(&self, decision: &Decision) -> Result<Span, PaceError> {
        match decision.outcome {
            Outcome::Exceeds => {
                Err(PaceError::Exceeds { cost: self.rider.cost, limit: decision.limit })
            }
            Outcome::Allow => Ok(Span::ZERO),
            Outcome::Deny => {
                Ok(decision.retry_after.filter(|wait| !wait.is_zero()).unwrap_or(LEAST_REST))
            }
        }
    }

    fn enter(&mut self) -> Result<(), PaceError> {
        let mut lines = self.desk.lines.lock();
        self.in_line = lines.enter(&self.key, self.rider, self.manners.max_waiting);
        match self.in_line {
            true => Ok(()),
            false => Err(PaceError::Crowded { waiting: lines.waiting() }),
        }
    }

    /// What is left until the deadline.
    fn left(&self) -> Option<Span> {
        self.deadline.map(|deadline| deadline.since(self.desk.timer.now()))
    }

    /// Gives up when waiting this long would be too long.
    fn in_time(&self, wait: Span) -> Result<(), PaceError> {
        match self.left() {
            Some(left) if wait > left => Err(PaceError::TooLong { wait: Some(wait) }),
            _ => Ok(()),
        }
    }

    /// With a deadline and others in front: gives up at once when all of them together take too
    /// long.
    async fn look_ahead(&self) -> Result<(), PaceError> {
        let (sum, count) = self.desk.lines.lock().up_to(&self.key, self.rider.ticket);
        if self.deadline.is_none() || count < 2 {
            return Ok(());
        }
        let policy = &self.desk.policy;
        let at_once: Amount = sum.min(most_at_once(policy));
        let peek = Key::new(&*self.key).map(|key| Check::peek(key, policy, at_once));
        let Ok(peek) = peek.map(|check| self.desk.store.take(&[check])) else { return Ok(()) };
        let verdict = peek.await?;
        let told = verdict.decisions().first().and_then(|decision| decision.retry_after);
        self.in_time(least_wait(policy, told.unwrap_or_default(), sum, count))
    }

    /// Sleeps as the store told, if first in line; a nudge ends it early.
    async fn rest(&self, wait: Span) -> Result<(), PaceError> {
        self.in_time(wait)?;
        if !self.desk.lines.lock().is_first(&self.key, self.rider.ticket) {
            return Ok(());
        }
        let wait = self.left().unwrap_or(Span::MAX).min(wait + random_up_to(self.manners.jitter));
        let mut sleep = pin!(self.desk.timer.sleep(wait));
        poll_fn(|context| {
            if sleep.as_mut().poll(context).is_ready() || self.is_nudged(context.waker()) {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        Ok(())
    }

    fn is_nudged(&self, waker: &Waker) -> bool {
        self.desk.lines.lock().is_nudged(&self.key, self.rider.ticket, self.seen, waker)
    }

    /// Waits to be first, or for the deadline.
    async fn turn(&mut self) -> Result<Turn, PaceError> {
        // Several checks of one request never pass a spacing together.
        let grouped = self.desk.policy.limits().iter().all(|limit| limit.min_interval().is_none());
        let mut late = pin!(self.left().map(|left| self.desk.timer.sleep(left)));
        poll_fn(|context| {
            let (now, waker) = (self.desk.timer.now(), context.waker());
            let mut lines = self.desk.lines.lock();
            match lines.look(&self.key, self.rider.ticket, now, grouped, waker) {
                Turn::Wait => {}
                turn => {
                    self.seen = lines.given_back();
                    return Poll::Ready(Ok(turn));
                }
            }
            drop(lines);
            match late.as_mut().as_pin_mut().map(|late| late.poll(context)) {
                Some(Poll::Ready(())) => Poll::Ready(Err(PaceError::TooLong { wait: None })),
                _ => Poll::Pending,
            }
        })
        .await
    }
}

impl<S: Store + 'static, T: Timer> Drop for Wait<S, T> {
    fn drop(&mut self) {
        if !self.in_line {
            return;
        }
        let now = self.desk.timer.now();
        let (landed, waker) = self.desk.lines.lock().leave(&self.key, self.rider.ticket, now);
        waker.into_iter().for_each(Waker::wake);
        if let Some(Ok(grant)) = landed {
            Desk::give_back_grant(&self.desk, &self.key, self.rider, &grant);
        }
    }
}

/// A random time of at most `most`.
fn random_up_to(most: Span) -> Span {
    if most.is_zero() {
        return most;
    }
    // The standard library's own source of randomness: every state hashes differently.
    let random = RandomState::new().hash_one(());
    Span::from_nanos(random % most.as_nanos().saturating_add(1))
}
