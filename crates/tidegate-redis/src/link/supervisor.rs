//! One task keeps one connection up: it opens it, drives it, notices its end, and opens it again.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::RedisError;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use super::backoff::Backoff;
use super::open::{Driver, Target, ping};
use crate::config::RedisConfig;

/// How long an attempt to connect, or a PING of a doubtful connection, may take at least. It is not
/// the callers' deadline: they leave sooner, and a far server must be reachable at all.
const PATIENCE_MIN: Duration = Duration::from_secs(1);

/// A connection that lived this long was a good one: after it, connecting starts without a wait.
const PROVEN: Duration = Duration::from_secs(2);

/// Where the connection stands.
#[derive(Clone, Debug)]
enum State {
    /// It is being opened for the first time since the start or since a good one was lost: it is
    /// worth waiting for.
    Opening,
    /// It is up.
    Up(MultiplexedConnection),
    /// The last attempt failed. Callers are told at once; the next attempt is not theirs to wait for.
    Down(RedisError),
}

/// A connection that is kept up while this exists.
pub(crate) struct Supervised {
    address: String,
    target: Arc<Target>,
    patience: Duration,
    /// Set by a call that had no answer, seen by the task.
    doubt: Arc<Notify>,
    /// Held only to look at the task or to start it, never across a wait.
    task: Mutex<Option<Task>>,
}

/// The running task; dropping it ends the task and its connection.
struct Task {
    state: watch::Receiver<State>,
    abort: AbortHandle,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

impl Supervised {
    /// Connects nowhere yet: the first call does.
    pub(crate) fn new(config: &RedisConfig) -> Supervised {
        Supervised {
            address: config.address.to_string(),
            target: Arc::new(Target::new(config)),
            patience: Duration::from(config.timeout).max(PATIENCE_MIN),
            doubt: Arc::new(Notify::new()),
            task: Mutex::new(None),
        }
    }

    /// The connection; waits while it is being opened, and fails while it cannot be.
    pub(super) async fn connection(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut state = self.state();
        loop {
            match &*state.borrow_and_update() {
                State::Up(connection) => return Ok(connection.clone()),
                State::Down(error) => return Err(error.clone()),
                State::Opening => {}
            }
            if state.changed().await.is_err() {
                // The runtime that ran the task is gone; the next call starts it on its own.
                return Err(lost());
            }
        }
    }

    /// Has the task see whether the connection still answers.
    pub(super) fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// The task's state. Starts the task when there is none, or when its runtime is gone.
    fn state(&self) -> watch::Receiver<State> {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        match &*task {
            Some(task) if task.state.has_changed().is_ok() => task.state.clone(),
            _ => {
                let (sender, state) = watch::channel(State::Opening);
                let keeper = Keeper {
                    address: self.address.clone(),
                    target: Arc::clone(&self.target),
                    patience: self.patience,
                    doubt: Arc::clone(&self.doubt),
                    state: sender,
                };
                let abort = tokio::spawn(keeper.run()).abort_handle();
                *task = Some(Task { state: state.clone(), abort });
                state
            }
        }
    }
}

impl fmt::Debug for Supervised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervised").field("address", &self.address).finish_non_exhaustive()
    }
}

fn lost() -> RedisError {
    io::Error::from(io::ErrorKind::ConnectionAborted).into()
}

/// What the task owns.
struct Keeper {
    address: String,
    target: Arc<Target>,
    patience: Duration,
    doubt: Arc<Notify>,
    state: watch::Sender<State>,
}

impl Keeper {
    /// Keeps the connection up until it is aborted.
    async fn run(self) {
        let mut backoff = Backoff::new();
        loop {
            match self.open().await {
                Ok((connection, driver)) => {
                    self.enter(State::Up(connection.clone()));
                    let since = Instant::now();
                    self.serve(connection, driver).await;
                    if since.elapsed() >= PROVEN {
                        self.enter(State::Opening);
                        backoff.reset();
                        continue;
                    }
                    self.enter(State::Down(lost()));
                }
                Err(error) => self.enter(State::Down(error)),
            }
            tokio::time::sleep(backoff.step()).await;
        }
    }

    async fn open(&self) -> Result<(MultiplexedConnection, Driver), RedisError> {
        let opened = timeout(self.patience, self.target.open()).await;
        opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }

    /// Drives the connection until it ends or no longer answers.
    async fn serve(&self, connection: MultiplexedConnection, mut driver: Driver) {
        loop {
            tokio::select! {
                () = &mut driver => return,
                () = self.doubt.notified() => {}
            }
            let answer = timeout(self.patience, ping(connection.clone()));
            tokio::select! {
                () = &mut driver => return,
                answer = answer => if answer.is_err() { return },
            }
        }
    }

    /// Enters a state, and says so in the log when it is another kind than before.
    fn enter(&self, state: State) {
        let before = self.state.send_replace(state);
        match (&before, &*self.state.borrow()) {
            (State::Up(_), State::Opening | State::Down(_)) => {
                warn!(address = %self.address, "lost the connection to redis");
            }
            (State::Opening, State::Down(error)) => {
                warn!(address = %self.address, %error, "cannot reach redis; trying on");
            }
            (_, State::Up(_)) => info!(address = %self.address, "connected to redis"),
            _ => {}
        }
    }
}
