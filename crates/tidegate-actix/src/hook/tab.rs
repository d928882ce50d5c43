//! What a request has taken, until it is settled.

use std::fmt;

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
}

impl<S: Store> Tab<S> {
    pub(super) fn open(taken: Taken<S>, hooks: Hooks) -> Tab<S> {
        Tab(Some(Open { taken, hooks, served: Served::default() }))
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
            open.served.request = Some(response.request().clone());
        } else {
            self.0 = None;
        }
    }

    /// What comes behind the end, the body of an answer to HEAD for instance, does not go out.
    fn sent(&mut self, bytes: usize) {
        if let Some(open) = &mut self.0
            && !open.served.is_complete
        {
            open.served.bytes += bytes as u64;
        }
    }

    fn ended(&mut self) {
        if let Some(open) = &mut self.0 {
            open.served.is_complete = true;
        }
    }
}

/// The end of the body, or of whoever wanted it.
impl<S: Store> Drop for Tab<S> {
    fn drop(&mut self) {
        if let Some(Open { taken, hooks, served }) = self.0.take()
            && let Some(true_cost) = hooks.true_cost
        {
            taken.settle(|| true_cost(&served));
        }
    }
}
