//! The answer to come.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tidegate::Store;
use tower_service::Service;

use crate::body::Body;
use crate::core::Pass;
use crate::hook::{Guard, Hook, ResponseHead};
use crate::http::Lines;
use crate::parked::{Leave, Parked};
use crate::prelude::Prelude;
use crate::rules::Rules;

pin_project! {
    /// The answer of a [`RateLimit`](crate::RateLimit) service.
    pub struct ResponseFuture<T, S, R, P, H, B>
    where
        T: Service<Request<B>>,
        S: Store,
        P: Prelude,
        H: Hook<S>,
    {
        #[pin]
        state: State<T::Future, Parked<T, S, R, P, H, B>, H::Guard>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, K, G> {
        /// With the service inside, whose answer goes on as it is.
        Plain { #[pin] future: F },
        /// With the service inside, and something to see to when it answers.
        Inner { #[pin] future: F, pass: Pass<G> },
        /// Answered here.
        Answered { response: Option<Box<Response<Bytes>>> },
        /// Waiting. It is a heap object of its own so that requests that do not wait, which is all of
        /// them over a store in memory, carry no place for it around.
        Parked { parked: Pin<Box<K>> },
    }
}

impl<T, S, R, P, H, B> ResponseFuture<T, S, R, P, H, B>
where
    T: Service<Request<B>>,
    S: Store,
    P: Prelude,
    H: Hook<S>,
{
    #[inline(always)]
    pub(crate) fn plain(future: T::Future) -> Self {
        ResponseFuture { state: State::Plain { future } }
    }

    pub(crate) fn inner(future: T::Future, pass: Pass<H::Guard>) -> Self {
        ResponseFuture { state: State::Inner { future, pass } }
    }

    pub(crate) fn answered(response: Box<Response<Bytes>>) -> Self {
        ResponseFuture { state: State::Answered { response: Some(response) } }
    }

    pub(crate) fn parked(parked: Parked<T, S, R, P, H, B>) -> Self {
        ResponseFuture { state: State::Parked { parked: Box::pin(parked) } }
    }
}

impl<T, S, R, P, H, B, C> Future for ResponseFuture<T, S, R, P, H, B>
where
    T: Service<Request<B>, Response = Response<C>>,
    S: Store,
    R: Rules,
    P: Prelude,
    H: Hook<S>,
{
    type Output = Result<Response<Body<C, H::Guard>>, T::Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let left = match state.as_mut().project() {
                StateProjection::Plain { future } => {
                    let response = ready!(future.poll(context))?;
                    let body = |body| Body::inner(body, H::Guard::default());
                    return Poll::Ready(Ok(response.map(body)));
                }
                StateProjection::Inner { future, pass } => {
                    let mut response = ready!(future.poll(context))?;
                    pass.guard.answered(&ResponseHead::of(&response));
                    if pass.is_head {
                        pass.guard.ended();
                    }
                    pass.marks.write(&mut Lines(response.headers_mut()));
                    let guard = mem::take(&mut pass.guard);
                    return Poll::Ready(Ok(response.map(|body| Body::inner(body, guard))));
                }
                StateProjection::Answered { response } => {
                    let response = response.take().expect("polled after it was ready");
                    return Poll::Ready(Ok(response.map(Body::own)));
                }
                StateProjection::Parked { parked } => ready!(parked.as_mut().poll(context)),
            };
            state.set(match left {
                Leave::Pass(future, pass) => State::Inner { future, pass },
                Leave::Answer(response) => State::Answered { response: Some(response) },
            });
        }
    }
}

impl<T, S, R, P, H, B> fmt::Debug for ResponseFuture<T, S, R, P, H, B>
where
    T: Service<Request<B>>,
    S: Store,
    P: Prelude,
    H: Hook<S>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
