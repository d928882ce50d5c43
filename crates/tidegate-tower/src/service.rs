//! The service: asks, and calls the service inside, or answers in its place.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tidegate::Store;
use tidegate_middleware::PeerIp;
use tower_service::Service;

use crate::body::Body;
use crate::core::{Core, Pass, Step};
use crate::future::ResponseFuture;
use crate::head::RequestHead;
use crate::hook::{Hook, NoHooks};
use crate::parked::Parked;
use crate::prelude::{NoPrelude, Prelude};
use crate::rules::{Rule, Rules};

/// A service that is called only as often as its limits allow.
///
/// It is ready when the service inside is. What is answered here leaves that one ready for the next
/// call.
#[derive(Debug)]
pub struct RateLimit<T, S, R = Rule<PeerIp>, P = NoPrelude, H = NoHooks> {
    inner: T,
    core: Arc<Core<S, R, P, H>>,
}

impl<T, S, R, P, H> RateLimit<T, S, R, P, H> {
    pub(crate) fn new(inner: T, core: Arc<Core<S, R, P, H>>) -> RateLimit<T, S, R, P, H> {
        RateLimit { inner, core }
    }

    /// The service inside.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The service inside, to change it.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// The service inside, alone.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: Clone, S, R, P, H> Clone for RateLimit<T, S, R, P, H> {
    fn clone(&self) -> Self {
        RateLimit { inner: self.inner.clone(), core: Arc::clone(&self.core) }
    }
}

impl<T, S, R, P, H, B, C> Service<Request<B>> for RateLimit<T, S, R, P, H>
where
    T: Service<Request<B>, Response = Response<C>> + Clone,
    S: Store,
    R: Rules,
    P: Prelude,
    H: Hook<S>,
{
    type Response = Response<Body<C, H::Guard>>;
    type Error = T::Error;
    type Future = ResponseFuture<T, S, R, P, H, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        self.inner.poll_ready(context)
    }

    // Not inlined, and what is rare apart: a request is two hundred bytes and more, which are moved once
    // for each call that takes it, and once more for each that is inlined.
    #[inline(never)]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut pass = Pass::default();
        let step = {
            let head = RequestHead::of(&request);
            match self.core.prelude.start(&head) {
                Some(found) => Step::Resolve(found),
                None => self.core.ask(&head, &mut pass),
            }
        };
        match step {
            Step::Pass if pass.is_plain() => ResponseFuture::plain(self.inner.call(request)),
            Step::Pass if !pass.marks.is_degraded() => {
                ResponseFuture::inner(self.inner.call(request), pass)
            }
            step => self.go_on(request, step, pass),
        }
    }
}

impl<T: Clone, S, R, P, H> RateLimit<T, S, R, P, H> {
    /// What a request comes to that does not simply pass.
    #[inline(never)]
    fn go_on<B>(
        &mut self,
        mut request: Request<B>,
        step: Step<S::Take, P::Future>,
        pass: Pass<H::Guard>,
    ) -> ResponseFuture<T, S, R, P, H, B>
    where
        T: Service<Request<B>>,
        S: Store,
        P: Prelude,
        H: Hook<S>,
    {
        match step {
            Step::Pass => {
                pass.tell(&mut request);
                ResponseFuture::inner(self.inner.call(request), pass)
            }
            Step::Answer(response) => ResponseFuture::answered(response),
            Step::Wait(waiting) => {
                self.park(|core, inner| Parked::deciding(core, inner, request, *waiting))
            }
            Step::Resolve(found) => {
                self.park(|core, inner| Parked::resolving(core, inner, request, found))
            }
        }
    }

    /// Puts a request by until it may go on, together with the service that is ready for it; its
    /// clone, which has yet to become ready, takes its place here.
    fn park<B>(
        &mut self,
        park: impl FnOnce(Arc<Core<S, R, P, H>>, T) -> Parked<T, S, R, P, H, B>,
    ) -> ResponseFuture<T, S, R, P, H, B>
    where
        T: Service<Request<B>>,
        S: Store,
        P: Prelude,
        H: Hook<S>,
    {
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        ResponseFuture::parked(park(Arc::clone(&self.core), ready))
    }
}
