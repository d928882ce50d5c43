//! Sleeping on Tokio.

use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use super::{Errand, Timer};
use crate::time::{Span, Timestamp};

/// Sleeps on the Tokio runtime that polls; needs the feature `tokio`.
///
/// Tokio's timers have a resolution of one millisecond, rounded up: a limit of more than a thousand
/// a second keeps its rate only if it also has room for what comes together in a millisecond.
///
/// # Examples
///
/// ```
/// use tidegate::{Cost, Key, Limit, Limiter, MemoryStore, Policy, TokioTimer};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let policy = Policy::new("api", [Limit::quota("burst", "100/s burst 1")?])?;
/// let pacer = Limiter::new(MemoryStore::new(), policy).pacer(TokioTimer::new());
/// for _ in 0..3 {
///     pacer.until_ready(Key::new("alice")?, Cost::ONE).await?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokioTimer {
    start: Instant,
}

impl TokioTimer {
    /// A timer; it may be made outside of a runtime.
    #[must_use]
    pub fn new() -> TokioTimer {
        TokioTimer { start: Instant::now() }
    }
}

impl Default for TokioTimer {
    fn default() -> TokioTimer {
        TokioTimer::new()
    }
}

impl Timer for TokioTimer {
    type Sleep = Sleep;

    fn now(&self) -> Timestamp {
        Timestamp::EPOCH + Span::from(self.start.elapsed())
    }

    fn sleep(&self, span: Span) -> Sleep {
        tokio::time::sleep(span.into())
    }

    fn finish(&self, errand: Errand) {
        // Dropped outside of a runtime, or while one ends: nobody could see it through.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(errand);
        }
    }
}
