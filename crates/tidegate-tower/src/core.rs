//! From a request to what becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use tidegate::{Decision, Limiter, Store, StoreError, Verdict};
use tidegate_middleware::{Answers, Asked, Degraded, Item, Marks, Refused, Settled, at_once};

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
pub(crate) enum Step<T, F> {
    /// It goes on to the service.
    Pass,
    /// It is answered here.
    Answer(Box<Response<Bytes>>),
    /// The store has yet to say.
    Wait(Box<Waiting<T>>),
    /// Its key has yet to be found.
    Resolve(F),
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
    /// Whether there is nothing to see to when the service answers.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool
    where
        G: Guard,
    {
        !G::WATCHES && self.marks.is_empty()
    }

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
    /// answer is taken at once. What the request is to take along is put into `pass`, where it lies
    /// already: to hand it on from call to call would cost more than to find it.
    #[inline]
    pub(crate) fn ask<F>(
        &self,
        request: &RequestHead<'_>,
        pass: &mut Pass<H::Guard>,
    ) -> Step<S::Take, F> {
        let mut asked = Asked::default();
        if let Err(reason) = self.rules.ask(request, &mut asked) {
            return self.refuse(&Refused::BadRequest(reason.as_str()), request);
        }
        let Some(first) = asked.items().next() else {
            return Step::Pass;
        };
        // What is given back names the time it was taken, which the short way does not tell.
        if !H::Guard::WATCHES {
            match &asked.take_now(&self.limiter) {
                Ok(Some(decision)) if decision.is_allowed() => {
                    pass.marks = self.answers.marks(&asked, first, decision);
                    return Step::Pass;
                }
                Ok(Some(decision)) => return self.limited(request, &asked, first, decision),
                // A key that is none is refused below, where every question comes by.
                Ok(None) | Err(_) => {}
            }
        }
        match asked.take(&self.limiter).map(at_once) {
            Ok(Ok(verdict)) => self.settle(request, &mut asked, verdict, pass),
            Ok(Err(take)) => {
                let asked = asked.into_owned();
                Step::Wait(Box::new(Waiting { take, asked }))
            }
            Err(error) => self.refuse(&Refused::BadRequest(&error.to_string()), request),
        }
    }

    #[cold]
    fn limited<T, F>(
        &self,
        request: &RequestHead<'_>,
        asked: &Asked<'_>,
        item: &Item<'_>,
        decision: &Decision,
    ) -> Step<T, F> {
        Step::Answer(self.answers.limited(asked, item, decision, |refused, marks| {
            self.answer_marked(refused, marks, request)
        }))
    }

    /// What a verdict means for the request.
    pub(crate) fn settle<T, F>(
        &self,
        request: &RequestHead<'_>,
        asked: &mut Asked<'_>,
        verdict: Result<Verdict, StoreError>,
        pass: &mut Pass<H::Guard>,
    ) -> Step<T, F> {
        let settled = self.answers.settle(&self.limiter, asked, verdict, |refused, marks| {
            self.answer_marked(refused, marks, request)
        });
        match settled {
            Settled::Pass { marks, taken_at } => {
                pass.marks = marks;
                if let Some(at) = taken_at
                    && H::Guard::WATCHES
                {
                    pass.guard = self.hooks.open(&self.limiter, asked, at);
                    pass.is_head = request.method() == Method::HEAD;
                }
                Step::Pass
            }
            Settled::Answer(response) => Step::Answer(response),
        }
    }

    #[cold]
    fn refuse<T, F>(&self, refused: &Refused<'_>, request: &RequestHead<'_>) -> Step<T, F> {
        Step::Answer(self.answer(refused, request))
    }

    #[cold]
    fn answer_marked(
        &self,
        refused: &Refused<'_>,
        mut marks: Marks,
        request: &RequestHead<'_>,
    ) -> Box<Response<Bytes>> {
        let mut response = self.answer(refused, request);
        marks.write(&mut Lines(response.headers_mut()));
        response
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
