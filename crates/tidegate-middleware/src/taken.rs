//! What a request has taken.

use std::any::Any;
use std::fmt;
use std::future::Ready;
use std::sync::Arc;

use tidegate::{Check, Cost, Key, Limiter, Store, Timestamp};
use tokio::runtime::Handle;

use crate::asked::Asked;

/// What a request has taken, kept until it is known what it should have been.
///
/// A store elsewhere is told by a task of the Tokio runtime.
pub struct Taken<S> {
    limiter: Arc<Limiter<S>>,
    asked: Asked<'static>,
    at: Timestamp,
}

impl<S: Store> Taken<S> {
    /// What was asked and allowed at this time.
    #[must_use]
    pub fn new(limiter: Arc<Limiter<S>>, asked: Asked<'static>, at: Timestamp) -> Taken<S> {
        Taken { limiter, asked, at }
    }

    /// Gives back all that was taken.
    pub fn refund(&self) {
        if let Ok(checks) = self.asked.checks() {
            see_to(self.limiter.store().refund(&checks, self.at));
        }
    }

    /// Charges what the request cost beyond what it took, or gives back what it cost less. Only the
    /// key of the first rule is meant: what other keys count may be of another kind.
    pub fn settle(&self, true_cost: impl FnOnce() -> Cost) {
        let Some(item) = self.asked.first() else { return };
        let Ok(key) = Key::new(self.asked.key(item)) else { return };
        let (took, cost) = (item.cost(), true_cost());
        let apart = Cost::from_micros(took.as_micros().abs_diff(cost.as_micros()));
        let store = self.limiter.store();
        if cost > took {
            see_to(store.take(&[Check::debit(key, item.policy(), apart)]));
        } else if cost < took {
            see_to(store.refund(&[Check::take(key, item.policy(), apart)], self.at));
        }
    }
}

impl<S> fmt::Debug for Taken<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Has an operation carried out whose outcome nobody waits for. What is ready has been done already;
/// the rest runs as a task of the runtime.
fn see_to<F, T>(operation: F)
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let is_done = (&operation as &dyn Any).is::<Ready<T>>();
    if is_done {
        return;
    }
    // Without a runtime there was none for the taking either.
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(operation);
    }
}
