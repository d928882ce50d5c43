//! What happens once a request has been answered: giving back, or charging the true cost.

use std::sync::Arc;

use tidegate::{Limiter, Store, Timestamp};

use crate::rules::Asked;

/// What watches over an answer. Not to be implemented outside of this crate.
pub trait Hook<S>: Clone {
    /// What travels with the answer's body.
    type Guard: Guard;

    #[doc(hidden)]
    fn open(&self, limiter: &Arc<Limiter<S>>, asked: Asked<'_>, at: Timestamp) -> Self::Guard;
}

/// Travels with a body, and ends with it.
pub trait Guard: Default {
    /// So many bytes have gone out.
    #[doc(hidden)]
    fn sent(&mut self, bytes: usize);
}

/// Nothing happens, and nothing is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl<S: Store> Hook<S> for NoHooks {
    type Guard = ();

    #[inline]
    fn open(&self, _: &Arc<Limiter<S>>, _: Asked<'_>, _: Timestamp) {}
}

impl Guard for () {
    #[inline]
    fn sent(&mut self, _: usize) {}
}
