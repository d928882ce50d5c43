//! Whether the service is ready for requests, and who wants to know when that changes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tidegate::{StoreError, StoreErrorKind};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::constants::STORE_LINE_EVERY;

/// Whether requests should come here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// They should.
    Yes,
    /// They may: the store is away, and they get the configured stance.
    Degraded,
    /// They should not: the service is stopping, or its store is away and readiness wants one.
    No,
}

/// What readiness is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    draining: bool,
    store_away: bool,
    requires_store: bool,
}

impl State {
    fn ready(self) -> Ready {
        match (self.draining, self.store_away) {
            (true, _) => Ready::No,
            (false, false) => Ready::Yes,
            (false, true) if self.requires_store => Ready::No,
            (false, true) => Ready::Degraded,
        }
    }
}

/// Keeps the state, and the log of the store's absences.
#[derive(Debug)]
pub struct Readiness {
    state: watch::Sender<State>,
    /// `state.store_away` once more, for the one look that every request takes.
    store_away: AtomicBool,
    errors: ErrorLog,
}

impl Readiness {
    /// Ready, with a store that is there; or `store_away` until it first answers.
    pub(crate) fn new(store_away: bool) -> Readiness {
        Readiness {
            state: watch::Sender::new(State { store_away, ..State::default() }),
            store_away: AtomicBool::new(store_away),
            errors: ErrorLog::default(),
        }
    }

    /// Whether requests should come here now.
    #[must_use]
    pub fn now(&self) -> Ready {
        self.state.borrow().ready()
    }

    /// Lets readiness depend on the store.
    pub(crate) fn require_store(&self, required: bool) {
        self.state.send_modify(|state| state.requires_store = required);
    }

    /// The service is about to stop.
    pub(crate) fn drain(&self) {
        self.state.send_modify(|state| state.draining = true);
    }

    /// Waits until readiness has changed from what it was `before`.
    pub(crate) async fn changed_from(&self, before: Ready) -> Ready {
        let mut states = self.state.subscribe();
        match states.wait_for(|state| state.ready() != before).await {
            Ok(state) => state.ready(),
            // The sender is borrowed from self, so it is never gone.
            Err(_) => Ready::No,
        }
    }

    /// Hears how a call to the store went.
    pub(crate) fn store_answered(&self, error: Option<&StoreError>) {
        match error {
            // Relaxed: the flag only tells when to take the slow path below.
            None if !self.store_away.load(Ordering::Relaxed) => {}
            None => self.store_is(false),
            Some(error) => {
                self.errors.log(error);
                // Foreign data lies under one key; the store itself is there.
                self.store_is(error.kind() != StoreErrorKind::ForeignData);
            }
        }
    }

    fn store_is(&self, away: bool) {
        self.store_away.store(away, Ordering::Relaxed);
        self.state.send_if_modified(|state| {
            let changed = state.store_away != away;
            state.store_away = away;
            if changed && !away {
                tracing::info!("the store answers");
            }
            changed
        });
    }
}

/// Writes store errors to the log, at most one a second, with a count of those left out.
#[derive(Debug, Default)]
struct ErrorLog {
    last: Mutex<Option<Instant>>,
    left_out: AtomicU64,
}

impl ErrorLog {
    fn log(&self, error: &StoreError) {
        if self.is_due() {
            // Relaxed: a count for people.
            let left_out = self.left_out.swap(0, Ordering::Relaxed);
            tracing::error!(kind = error.kind().label(), left_out, "{error}");
        } else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_due(&self) -> bool {
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now - last >= STORE_LINE_EVERY);
        if due {
            *last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, "test")
    }

    #[test]
    fn a_store_that_is_away_degrades_until_it_answers_again() {
        let readiness = Readiness::new(false);
        readiness.store_answered(Some(&failed(StoreErrorKind::Timeout)));
        assert_eq!(readiness.now(), Ready::Degraded);
        readiness.require_store(true);
        assert_eq!(readiness.now(), Ready::No);
        readiness.store_answered(None);
        assert_eq!(readiness.now(), Ready::Yes);
    }

    #[test]
    fn a_store_that_never_answered_is_away() {
        let readiness = Readiness::new(true);
        assert_eq!(readiness.now(), Ready::Degraded);
        readiness.require_store(true);
        assert_eq!(readiness.now(), Ready::No);
        readiness.store_answered(None);
        assert_eq!(readiness.now(), Ready::Yes);
    }

    #[test]
    fn foreign_data_under_one_key_leaves_the_service_ready() {
        let readiness = Readiness::new(false);
        readiness.store_answered(Some(&failed(StoreErrorKind::ForeignData)));
        assert_eq!(readiness.now(), Ready::Yes);
    }

    #[test]
    fn a_draining_service_is_not_ready_whatever_its_store_says() {
        let readiness = Readiness::new(false);
        readiness.drain();
        readiness.store_answered(None);
        assert_eq!(readiness.now(), Ready::No);
    }
}
