//! The log: to standard error, as text on a terminal and as JSON otherwise, and never in the way.

use std::io::{self, IsTerminal};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

/// The most lines that wait to be written. Room for them all is taken at the start.
const MAX_QUEUED_LINES: usize = 8_192;

/// Keeps the log running; when it is dropped, what is still to be written is.
#[derive(Debug)]
#[must_use]
pub(crate) struct Logging {
    #[allow(dead_code, reason = "held to be dropped")]
    guard: Option<WorkerGuard>,
    /// The level that was asked for but could not be read.
    unreadable: Option<String>,
}

impl Logging {
    /// Says what is wrong with the log's own level, if anything is. Not said at the start, so that the
    /// first line is the one that the operator looks for.
    pub(crate) fn complain(&self) {
        if let Some(unreadable) = &self.unreadable {
            tracing::warn!("cannot read the log level {unreadable:?}; using info");
        }
    }
}

/// Starts the log at the level of `TIDEGATE_LOG`, else of `RUST_LOG`, else at info.
///
/// Lines go through a bounded queue to a thread of its own, and those that find it full are left
/// out: a slow reader of the log never slows a decision. When a log was started before, that one
/// goes on.
pub(crate) fn init() -> Logging {
    let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(MAX_QUEUED_LINES);
    let (writer, guard) = queue.finish(io::stderr());
    let (filter, unreadable) = filter();
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let started = if io::stderr().is_terminal() {
        builder.with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).with_target(false).with_ansi(false).try_init()
    };
    // A fault of ours is a line like any other, whichever task it ends.
    std::panic::set_hook(Box::new(|fault| tracing::error!("{fault}")));
    Logging { guard: started.is_ok().then_some(guard), unreadable }
}

/// What is logged, and the level that was asked for but could not be read.
fn filter() -> (EnvFilter, Option<String>) {
    let set = |name| std::env::var(name).ok().filter(|level| !level.is_empty());
    let Some(asked) = set("TIDEGATE_LOG").or_else(|| set("RUST_LOG")) else {
        return (EnvFilter::new("info"), None);
    };
    match EnvFilter::try_new(&asked) {
        Ok(filter) => (filter, None),
        Err(_) => (EnvFilter::new("info"), Some(asked)),
    }
}
