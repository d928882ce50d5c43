//! What a request has taken, until it is settled.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate::Store;
use tidegate_middleware::Taken;

use super::{Guard, Hooks, ResponseHead, Served};

/// What a request has taken, kept until it is known what it should have been.
///
/// It is settled when the answer's body ends or is dropped, whichever way that comes about.
pub struct Tab<S: Store>(Option<Open<S>>);

struct Open<S> {
    taken: Taken<S>,
    hooks: Hooks,
    served: Served,
    /// A body says that it has ended to whoever asks, and one that is asked is not to be changed.
    has_ended: AtomicBool,
}

impl<S: Store> Tab<S> {
    pub(super) fn open(taken: Taken<S>, hooks: Hooks) -> Tab<S> {
        let served = Served::default();
        Tab(Some(Open { taken, hooks, served, has_ended: AtomicBool::new(false) }))
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
            open.taken.refund();
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
    fn settle(self) {
        let Some(true_cost) = &self.hooks.true_cost else { return };
        let served = Served { is_complete: self.has_ended.into_inner(), ..self.served };
        self.taken.settle(|| true_cost(&served));
    }
}
