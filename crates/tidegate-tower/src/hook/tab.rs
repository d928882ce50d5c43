//! What a request has taken, until it is settled.

use std::any::Any;
use std::fmt;
use std::future::Ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate::{Check, Cost, Key, Limiter, Store, Timestamp};
use tokio::runtime::Handle;

use super::{Guard, Hooks, ResponseHead, Served};
use crate::rules::Asked;

/// What a request has taken, kept until it is known what it should have been.
///
/// It is settled when the answer's body ends or is dropped, whichever way that comes about.
pub struct Tab<S: Store>(Option<Open<S>>);

struct Open<S> {
    limiter: Arc<Limiter<S>>,
    asked: Asked<'static>,
    taken_at: Timestamp,
    hooks: Hooks,
    served: Served,
    /// A body says that it has ended to whoever asks, and one that is asked is not to be changed.
    has_ended: AtomicBool,
}

impl<S: Store> Tab<S> {
    pub(super) fn open(
        limiter: Arc<Limiter<S>>,
        asked: Asked<'static>,
        taken_at: Timestamp,
        hooks: Hooks,
    ) -> Tab<S> {
        Tab(Some(Open {
            limiter,
            asked,
            taken_at,
            hooks,
            served: Served::default(),
            has_ended: AtomicBool::new(false),
        }))
    }
}

impl<S: Store> Default for Tab<S> {
    fn default() -> Tab<S> {
        Tab(None)
    }
}

impl<S: Store> fmt::Debug for Tab<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tab").field(&self.0.is_some()).finish()
    }
}

impl<S: Store> Guard for Tab<S> {
    const WATCHES: bool = true;

    fn answered(&mut self, response: &ResponseHead<'_>) {
        let Some(open) = &mut self.0 else { return };
        if open.hooks.refund_if.as_ref().is_some_and(|refund_if| refund_if(response)) {
            open.refund_all();
            self.0 = None;
        } else if open.hooks.true_cost.is_some() {
            open.served.status = Some(response.status());
            open.served.extensions = response.extensions().clone();
        } else {
            self.0 = None;
        }
    }

    fn sent(&mut self, bytes: usize) {
        if let Some(open) = &mut self.0 {
            open.served.bytes += bytes as u64;
        }
    }

    fn ended(&self) {
        if let Some(open) = &self.0 {
            // Relaxed: whoever reads it owns the tab.
            open.has_ended.store(true, Ordering::Relaxed);
        }
    }
}

/// The end of the body, or of whoever wanted it.
impl<S: Store> Drop for Tab<S> {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.settle();
        }
    }
}

impl<S: Store> Open<S> {
    /// Gives back all that was taken.
    fn refund_all(&self) {
        if let Ok(checks) = self.asked.checks() {
            see_to(self.limiter.store().refund(&checks, self.taken_at));
        }
    }

    /// Charges what the request cost beyond what it took, or gives back what it cost less. Only the
    /// layer's own key is meant: what other keys count may be of another kind.
    fn settle(self) {
        let Some(true_cost) = &self.hooks.true_cost else { return };
        let Some(item) = self.asked.own() else { return };
        let Ok(key) = Key::new(self.asked.key(item)) else { return };
        let served = Served { is_complete: self.has_ended.into_inner(), ..self.served };
        let (took, cost) = (item.cost, true_cost(&served));
        let apart = Cost::from_micros(took.as_micros().abs_diff(cost.as_micros()));
        let store = self.limiter.store();
        if cost > took {
            see_to(store.take(&[Check::debit(key, item.policy(), apart)]));
        } else if cost < took {
            see_to(store.refund(&[Check::take(key, item.policy(), apart)], self.taken_at));
        }
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
