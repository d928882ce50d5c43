//! A request that waits: for its key, or for a store elsewhere.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tidegate::Store;
use tidegate_middleware::{Asked, Charge};
use tower_service::Service;

use crate::core::{Core, Pass, Step, Waiting};
use crate::head::RequestHead;
use crate::hook::Hook;
use crate::prelude::{Prelude, Resolution};
use crate::rules::Rules;

pin_project! {
    /// A request with the service that is ready for it.
    pub(crate) struct Parked<T, S, R, P, H, B>
    where
        S: Store,
        P: Prelude,
    {
        core: Arc<Core<S, R, P, H>>,
        inner: T,
        request: Option<Request<B>>,
        #[pin]
        stage: Stage<P::Future, S::Take>,
    }
}

pin_project! {
    /// What is waited for.
    #[project = StageProjection]
    enum Stage<F, T> {
        Resolving { #[pin] found: F },
        Deciding { #[pin] take: T, asked: Asked<'static> },
    }
}

/// What became of it.
pub(crate) enum Leave<F, G> {
    /// It was handed to the service.
    Pass(F, Pass<G>),
    /// It is answered here.
    Answer(Box<Response<Bytes>>),
}

impl<T, S, R, P, H, B> Parked<T, S, R, P, H, B>
where
    S: Store,
    P: Prelude,
{
    pub(crate) fn resolving(
        core: Arc<Core<S, R, P, H>>,
        inner: T,
        request: Request<B>,
        found: P::Future,
    ) -> Self {
        Parked { core, inner, request: Some(request), stage: Stage::Resolving { found } }
    }

    pub(crate) fn deciding(
        core: Arc<Core<S, R, P, H>>,
        inner: T,
        request: Request<B>,
        waiting: Waiting<S::Take>,
    ) -> Self {
        let Waiting { take, asked } = waiting;
        let stage = Stage::Deciding { take, asked };
        Parked { core, inner, request: Some(request), stage }
    }
}

impl<T, S, R, P, H, B> Parked<T, S, R, P, H, B>
where
    T: Service<Request<B>>,
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
        let mut pass = Pass::default();
        loop {
            let step = match this.stage.as_mut().project() {
                StageProjection::Resolving { found } => {
                    let resolution = Resolution(Charge::key(ready!(found.poll(context))));
                    let request = this.request.as_mut().expect(POLLED);
                    request.extensions_mut().insert(resolution);
                    this.core.ask(&RequestHead::of(request), &mut pass)
                }
                StageProjection::Deciding { take, asked } => {
                    let verdict = ready!(take.poll(context));
                    let head = RequestHead::of(this.request.as_ref().expect(POLLED));
                    this.core.settle(&head, asked, verdict, &mut pass)
                }
            };
            match step {
                Step::Pass => {
                    let mut request = this.request.take().expect(POLLED);
                    pass.tell(&mut request);
                    return Poll::Ready(Leave::Pass(this.inner.call(request), pass));
                }
                Step::Answer(response) => return Poll::Ready(Leave::Answer(response)),
                Step::Wait(waiting) => {
                    let Waiting { take, asked } = *waiting;
                    this.stage.set(Stage::Deciding { take, asked });
                }
                Step::Resolve(found) => this.stage.set(Stage::Resolving { found }),
            }
        }
    }
}

/// The contract of a future: whoever holds it does not poll it once it is ready.
const POLLED: &str = "polled after it was ready";
