//! How whoever waits sleeps: the one thing of waiting that a runtime must bring.

mod manual;
#[cfg(feature = "tokio")]
mod tokio;

use std::future::Future;
use std::pin::Pin;

pub use self::manual::{ManualSleep, ManualTimer};
#[cfg(feature = "tokio")]
pub use self::tokio::TokioTimer;

use crate::time::{Span, Timestamp};

/// Work that nobody awaits and that must still be done.
pub type Errand = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Sleeping, by whatever runtime the program has: what a [`Pacer`](crate::Pacer) waits with.
///
/// `TokioTimer` (with the feature `tokio`) sleeps on Tokio, [`ManualTimer`] on a clock that a test
/// moves.
///
/// # Examples
///
/// A timer of a program without a runtime: each sleeper is a thread.
///
/// ```
/// use std::future::Future;
/// use std::pin::Pin;
/// use std::sync::{Arc, Mutex};
/// use std::task::{Context, Poll, Waker};
/// use tidegate::{Clock, Errand, Span, SystemClock, Timer, Timestamp};
///
/// struct Threads(SystemClock);
/// struct Sleep(Arc<Mutex<(bool, Option<Waker>)>>);
///
/// impl Timer for Threads {
///     type Sleep = Sleep;
///
///     fn now(&self) -> Timestamp {
///         self.0.now()
///     }
///
///     fn sleep(&self, span: Span) -> Sleep {
///         let state = Arc::new(Mutex::new((false, None::<Waker>)));
///         let sleeper = state.clone();
///         std::thread::spawn(move || {
///             std::thread::sleep(span.into());
///             let mut state = sleeper.lock().expect("not poisoned");
///             state.0 = true;
///             state.1.take().map(Waker::wake)
///         });
///         Sleep(state)
///     }
///
///     fn finish(&self, _errand: Errand) {
///         // Only stores that answer later leave errands; the memory store has none.
///     }
/// }
///
/// impl Future for Sleep {
///     type Output = ();
///
///     fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
///         let mut state = self.0.lock().expect("not poisoned");
///         state.1 = Some(context.waker().clone());
///         if state.0 { Poll::Ready(()) } else { Poll::Pending }
///     }
/// }
/// ```
pub trait Timer: Send + Sync + 'static {
    /// A sleep.
    type Sleep: Future<Output = ()> + Send + 'static;

    /// The time by which deadlines are kept. It need not be wall time; it must go on evenly.
    fn now(&self) -> Timestamp;

    /// Is over when `span` has passed, never earlier.
    fn sleep(&self, span: Span) -> Self::Sleep;

    /// Sees to the end a piece of work whose caller is gone: a store's answer that is still on its
    /// way to a dropped future, and what must be given back then. Where that is not possible it is
    /// dropped.
    fn finish(&self, errand: Errand);
}
