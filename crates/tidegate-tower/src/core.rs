//! From a request to what becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use tidegate::{Limiter, Store, StoreError, Verdict};
use tidegate_middleware::{Answers, Asked, Degraded, Marks, Refused, Settled, at_once};

use crate::head::RequestHead;
use crate::hook::{Guard, Hook};
use crate::http::{Lines, refuse};
use crate::rules::Rules;

/// What a layer and its services share.
#[derive(Debug)]
pub(crate) struct Core<S, R, P, H> {
    pub(crate) limiter: Arc<Limiter<S>>,
    pub(crate) rules: R,
    pub(crate) prelude: Arc<P>,
    pub(crate) hooks: H,
    pub(crate) answers: Answers<Respond>,
}

/// How a response of one's own is made.
pub(crate) type Respond = Arc<dyn Fn(&Refused<'_>) -> Response<Bytes> + Send + Sync>;

/// What becomes of a request. The rare outcomes lie on the heap, so that the common one is small.
pub(crate) enum Step<T, G> {
    /// It goes on to the service.
    Pass(Pass<G>),
    /// It is answered here.
    Answer(Box<Response<Bytes>>),
    /// The store has yet to say.
    Wait(Box<Waiting<T>>),
}

/// A question that the store has yet to answer.
pub(crate) struct Waiting<T> {
    pub(crate) take: T,
    pub(crate) asked: Asked<'static>,
}

/// What a request takes along to the service and back.
#[derive(Debug, Default)]
pub(crate) struct Pass<G> {
    pub(crate) marks: Marks,
    pub(crate) guard: G,
    /// Nobody asks the body of its answer for its end.
    pub(crate) is_head: bool,
}

impl<G> Pass<G> {
    /// Tells the service what it should know.
    pub(crate) fn tell<B>(&self, request: &mut Request<B>) {
        if self.marks.is_degraded() {
            request.extensions_mut().insert(Degraded);
        }
    }
}

impl<S, R, P, H> Core<S, R, P, H>
where
    S: Store,
    R: Rules,
    H: Hook<S>,
{
    /// Finds out what to ask about a request and asks the store; of a store that answers at once, the
    /// answer is taken at once.
    #[inline]
    pub(crate) fn ask(&self, request: &RequestHead<'_>) -> Step<S::Take, H::Guard> {
        let mut asked = Asked::default();
        if let Err(reason) = self.rules.ask(request, &mut asked) {
            return self.refuse(&Refused::BadRequest(reason.as_str()), request);
        }
        if asked.items().is_empty() {
            return Step::Pass(Pass::default());
        }
        match asked.take(&self.limiter).map(at_once) {
            Ok(Ok(verdict)) => self.settle(request, &mut asked, verdict),
            Ok(Err(take)) => {
                let asked = asked.into_owned();
                Step::Wait(Box::new(Waiting { take, asked }))
            }
            Err(error) => self.refuse(&Refused::BadRequest(&error.to_string()), request),
        }
    }

    /// What a verdict means for the request.
    #[inline]
    pub(crate) fn settle<T>(
        &self,
        request: &RequestHead<'_>,
        asked: &mut Asked<'_>,
        verdict: Result<Verdict, StoreError>,
    ) -> Step<T, H::Guard> {
        let settled = self.answers.settle(&self.limiter, asked, verdict, |refused, marks| {
            let mut response = self.answer(refused, request);
            marks.write(&mut Lines(response.headers_mut()));
            response
        });
        match settled {
            Settled::Pass { marks, taken_at: Some(at) } => {
                let guard = self.hooks.open(&self.limiter, asked, at);
                let is_head = H::Guard::WATCHES && request.method() == Method::HEAD;
                Step::Pass(Pass { marks, guard, is_head })
            }
            Settled::Pass { marks, taken_at: None } => {
                Step::Pass(Pass { marks, ..Pass::default() })
            }
            Settled::Answer(response) => Step::Answer(response),
        }
    }

    #[cold]
    fn refuse<T>(&self, refused: &Refused<'_>, request: &RequestHead<'_>) -> Step<T, H::Guard> {
        Step::Answer(self.answer(refused, request))
    }

    #[cold]
    fn answer(&self, refused: &Refused<'_>, request: &RequestHead<'_>) -> Box<Response<Bytes>> {
        #[cfg(feature = "grpc")]
        if crate::grpc::is_call(request) {
            return Box::new(crate::grpc::refuse(refused));
        }
        #[cfg(not(feature = "grpc"))]
        let _ = request;
        let mut response = match &self.answers.respond {
            Some(respond) => respond(refused),
            None => refuse(refused, self.answers.format),
        };
        refused.advise(&mut Lines(response.headers_mut()));
        Box::new(response)
    }
}
