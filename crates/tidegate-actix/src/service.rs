//! The service: asks, and calls the service inside, or answers in its place.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse};
use tidegate::Store;
use tidegate_middleware::PeerIp;

use crate::body::Body;
use crate::core::{Core, Step};
use crate::future::ResponseFuture;
use crate::hook::{Hook, NoHooks};
use crate::parked::Parked;
use crate::prelude::{NoPrelude, Prelude};
use crate::rules::{Rule, Rules};

/// A service that is called only as often as its limits allow: what
/// [`RateLimit`](crate::RateLimit) makes of one.
#[derive(Debug)]
pub struct RateLimitService<T, S, R = Rule<PeerIp>, P = NoPrelude, H = NoHooks> {
    /// Shared with requests that wait.
    inner: Rc<T>,
    core: Arc<Core<S, R, P, H>>,
}

impl<T, S, R, P, H> RateLimitService<T, S, R, P, H> {
    pub(crate) fn new(inner: T, core: Arc<Core<S, R, P, H>>) -> RateLimitService<T, S, R, P, H> {
        RateLimitService { inner: Rc::new(inner), core }
    }
}

impl<T, S, R, P, H, B> Service<ServiceRequest> for RateLimitService<T, S, R, P, H>
where
    T: Service<ServiceRequest, Response = ServiceResponse<B>>,
    B: MessageBody,
    S: Store,
    R: Rules,
    P: Prelude,
    H: Hook<S>,
{
    type Response = ServiceResponse<Body<B, H::Guard>>;
    type Error = T::Error;
    type Future = ResponseFuture<T, S, R, P, H>;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let park = |park: Parked<T, S, R, P, H>| ResponseFuture::parked(park);
        let (core, inner) = (&self.core, &self.inner);
        if let Some(found) = core.prelude.start(&request) {
            return park(Parked::resolving(Arc::clone(core), Rc::clone(inner), request, found));
        }
        match core.ask(&request) {
            Step::Pass(pass) => {
                pass.tell(&request);
                ResponseFuture::inner(inner.call(request), pass)
            }
            Step::Answer(response) => {
                ResponseFuture::answered(ServiceResponse::new(request.into_parts().0, response))
            }
            Step::Wait(take, asked) => {
                let (core, inner) = (Arc::clone(core), Rc::clone(inner));
                park(Parked::deciding(core, inner, request, take, asked))
            }
        }
    }
}
