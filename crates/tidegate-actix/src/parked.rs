//! A request that waits: for its key, or for a store elsewhere.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_web::HttpMessage;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse};
use pin_project_lite::pin_project;
use tidegate::Store;
use tidegate_middleware::{Asked, Charge};

use crate::core::{Core, Pass, Step};
use crate::hook::Hook;
use crate::prelude::{Prelude, Resolution};
use crate::rules::Rules;

pin_project! {
    /// A request with the service that it is for.
    pub(crate) struct Parked<T, S, R, P, H>
    where
        S: Store,
        P: Prelude,
    {
        core: Arc<Core<S, R, P, H>>,
        inner: Rc<T>,
        request: Option<ServiceRequest>,
        #[pin]
        stage: Stage<P::Future, S::Take>,
    }
}

pin_project! {
    /// What is waited for.
    #[project = StageProjection]
    enum Stage<F, T> {
        Resolving { #[pin] found: F },
        Deciding { #[pin] take: T, asked: Option<Asked<'static>> },
        /// Nothing any more.
        Over,
    }
}

/// What became of it.
pub(crate) enum Leave<F, G> {
    /// It was handed to the service.
    Pass(F, Pass<G>),
    /// It is answered here.
    Answer(ServiceResponse),
}

impl<T, S, R, P, H> Parked<T, S, R, P, H>
where
    S: Store,
    P: Prelude,
{
    pub(crate) fn resolving(
        core: Arc<Core<S, R, P, H>>,
        inner: Rc<T>,
        request: ServiceRequest,
        found: P::Future,
    ) -> Self {
        Parked { core, inner, request: Some(request), stage: Stage::Resolving { found } }
    }

    pub(crate) fn deciding(
        core: Arc<Core<S, R, P, H>>,
        inner: Rc<T>,
        request: ServiceRequest,
        take: S::Take,
        asked: Asked<'static>,
    ) -> Self {
        let stage = Stage::Deciding { take, asked: Some(asked) };
        Parked { core, inner, request: Some(request), stage }
    }
}

impl<T, S, R, P, H> Parked<T, S, R, P, H>
where
    T: Service<ServiceRequest>,
    S: Store,
    R: Rules,
    P: Prelude,
    H: Hook<S>,
{
    /// Waits; once it is ready, it is not to be polled again.
    pub(crate) fn poll(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Leave<T::Future, H::Guard>> {
        let mut this = self.project();
        loop {
            let step = match this.stage.as_mut().project() {
                StageProjection::Resolving { found } => {
                    let charge = Charge::key(ready!(found.poll(context)));
                    let request = this.request.as_ref().expect(POLLED);
                    request.extensions_mut().insert(Resolution(charge));
                    this.core.ask(request)
                }
                StageProjection::Deciding { take, asked } => {
                    let verdict = ready!(take.poll(context));
                    this.core.settle(asked.take().expect(POLLED), verdict)
                }
                StageProjection::Over => unreachable!("{POLLED}"),
            };
            match step {
                Step::Pass(pass) => {
                    let request = this.request.take().expect(POLLED);
                    // The router needs the request for itself; a future may have a clone of it.
                    this.stage.set(Stage::Over);
                    pass.tell(&request);
                    return Poll::Ready(Leave::Pass(this.inner.call(request), pass));
                }
                Step::Answer(response) => {
                    let request = this.request.take().expect(POLLED).into_parts().0;
                    return Poll::Ready(Leave::Answer(ServiceResponse::new(request, response)));
                }
                Step::Wait(take, asked) => {
                    this.stage.set(Stage::Deciding { take, asked: Some(asked) });
                }
            }
        }
    }
}

/// The contract of a future: whoever holds it does not poll it once it is ready.
const POLLED: &str = "polled after it was ready";
