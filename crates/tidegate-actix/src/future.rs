//! The answer to come.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use pin_project_lite::pin_project;
use tidegate::Store;

use crate::body::Body;
use crate::core::Pass;
use crate::hook::{Guard, Hook, ResponseHead};
use crate::http::Lines;
use crate::parked::{Leave, Parked};
use crate::prelude::Prelude;
use crate::rules::Rules;

pin_project! {
    /// The answer of a [`RateLimitService`](crate::RateLimitService).
    pub struct ResponseFuture<T, S, R, P, H>
    where
        T: Service<ServiceRequest>,
        S: Store,
        P: Prelude,
        H: Hook<S>,
    {
        #[pin]
        state: State<T::Future, Parked<T, S, R, P, H>, H::Guard>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, K, G> {
        /// With the service inside.
        Inner { #[pin] future: F, pass: Option<Pass<G>> },
        /// Answered here.
        Answered { response: Option<ServiceResponse> },
        /// Waiting. It is a heap object of its own so that requests that do not wait, which is all of
        /// them over a store in memory, carry no place for it around.
        Parked { parked: Pin<Box<K>> },
    }
}

impl<T, S, R, P, H> ResponseFuture<T, S, R, P, H>
where
    T: Service<ServiceRequest>,
    S: Store,
    P: Prelude,
    H: Hook<S>,
{
    pub(crate) fn inner(future: T::Future, pass: Pass<H::Guard>) -> Self {
        ResponseFuture { state: State::Inner { future, pass: Some(pass) } }
    }

    pub(crate) fn answered(response: ServiceResponse) -> Self {
        ResponseFuture { state: State::Answered { response: Some(response) } }
    }

    pub(crate) fn parked(parked: Parked<T, S, R, P, H>) -> Self {
        ResponseFuture { state: State::Parked { parked: Box::pin(parked) } }
    }
}

impl<T, S, R, P, H, B> Future for ResponseFuture<T, S, R, P, H>
where
    T: Service<ServiceRequest, Response = ServiceResponse<B>>,
    B: MessageBody,
    S: Store,
    R: Rules,
    P: Prelude,
    H: Hook<S>,
{
    type Output = Result<ServiceResponse<Body<B, H::Guard>>, T::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let left = match state.as_mut().project() {
                StateProjection::Inner { future, pass } => {
                    let response = ready!(future.poll(context))?;
                    let pass = pass.take().expect("polled after it was ready");
                    return Poll::Ready(Ok(mark(response, pass)));
                }
                StateProjection::Answered { response } => {
                    let response = response.take().expect("polled after it was ready");
                    return Poll::Ready(Ok(response.map_body(|_, body| Body::own(body))));
                }
                StateProjection::Parked { parked } => ready!(parked.as_mut().poll(context)),
            };
            state.set(match left {
                Leave::Pass(future, pass) => State::Inner { future, pass: Some(pass) },
                Leave::Answer(response) => State::Answered { response: Some(response) },
            });
        }
    }
}

/// The service's answer, with what it is to say, watched over by the guard.
fn mark<B: MessageBody, G: Guard>(
    mut response: ServiceResponse<B>,
    Pass { mut marks, mut guard }: Pass<G>,
) -> ServiceResponse<Body<B, G>> {
    if G::WATCHES {
        guard.answered(&ResponseHead::of(&response));
        // Nobody asks such a body for its end.
        let is_head = response.request().method() == Method::HEAD;
        if is_head || response.response().body().size().is_eof() {
            guard.ended();
        }
    }
    marks.write(&mut Lines(response.headers_mut()));
    response.map_body(|_, body| Body::inner(body, guard))
}

impl<T, S, R, P, H> fmt::Debug for ResponseFuture<T, S, R, P, H>
where
    T: Service<ServiceRequest>,
    S: Store,
    P: Prelude,
    H: Hook<S>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
