//! From a request to what becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tidegate::{HeaderDialect, Limiter, Store, StoreError, Timestamp, Verdict};

use crate::error::{OnStoreError, Refused};
use crate::head::{Degraded, RequestHead};
use crate::headers::Marks;
use crate::hook::Hook;
use crate::http::{Format, advise, refuse};
use crate::rules::{Asked, Item, Rules};
use crate::store::{at_once, heard, take};

/// What a layer and its services share.
#[derive(Debug)]
pub(crate) struct Core<S, R, P, H> {
    pub(crate) limiter: Arc<Limiter<S>>,
    pub(crate) rules: R,
    pub(crate) prelude: Arc<P>,
    pub(crate) hooks: H,
    pub(crate) answers: Answers,
}

/// How a response of one's own is made.
pub(crate) type Respond = Arc<dyn Fn(&Refused<'_>) -> Response<Bytes> + Send + Sync>;

/// How requests are answered.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    pub(crate) dialect: HeaderDialect,
    pub(crate) format: Format,
    pub(crate) on_store_error: OnStoreError,
    pub(crate) respond: Option<Respond>,
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers")
            .field("dialect", &self.dialect)
            .field("format", &self.format)
            .field("on_store_error", &self.on_store_error)
            .finish_non_exhaustive()
    }
}

/// What becomes of a request.
pub(crate) enum Step<T, G> {
    /// It goes on to the service.
    Pass(Pass<G>),
    /// It is answered here.
    Answer(Response<Bytes>),
    /// The store has yet to say.
    Wait(T, Asked<'static>),
}

/// What a request takes along to the service and back.
#[derive(Debug)]
pub(crate) struct Pass<G> {
    pub(crate) marks: Marks,
    pub(crate) guard: G,
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
    pub(crate) fn ask(&self, request: &RequestHead<'_>) -> Step<S::Take, H::Guard> {
        let mut asked = Asked::default();
        if let Err(reason) = self.rules.ask(request, &mut asked) {
            return Step::Answer(self.refuse(&Refused::BadRequest(reason.as_str()), request));
        }
        if asked.items().is_empty() {
            return Step::Pass(Pass { marks: Marks::default(), guard: H::Guard::default() });
        }
        let take = match take(&self.limiter, &mut asked) {
            Ok(take) => take,
            Err(error) => {
                let reason = error.to_string();
                let refused = Refused::BadRequest(reason.as_str());
                return Step::Answer(self.refuse(&refused, request));
            }
        };
        match at_once(take) {
            Ok(verdict) => self.settle(request, asked, verdict),
            Err(take) => Step::Wait(take, asked.into_owned()),
        }
    }

    /// What a verdict means for the request.
    pub(crate) fn settle<T>(
        &self,
        request: &RequestHead<'_>,
        asked: Asked<'_>,
        verdict: Result<Verdict, StoreError>,
    ) -> Step<T, H::Guard> {
        let verdict = match heard(&self.limiter, &asked, self.answers.on_store_error, verdict) {
            Ok(verdict) => verdict,
            Err(error) => return self.without_store(request, &error),
        };
        let governing = verdict.governing();
        let (item, decision) = (&asked.items()[governing], &verdict.decisions()[governing]);
        let policies = asked.items().iter().map(Item::policy);
        let marks = Marks::of(self.answers.dialect, policies, item.policy(), decision);
        if verdict.is_allowed() {
            return Step::Pass(self.pass(marks, asked, verdict.at()));
        }
        let refused = Refused::Limited { policy: item.policy(), decision };
        let mut response = self.refuse(&refused, request);
        marks.write(response.headers_mut());
        Step::Answer(response)
    }

    fn pass(&self, marks: Marks, asked: Asked<'_>, at: Timestamp) -> Pass<H::Guard> {
        Pass { marks, guard: self.hooks.open(&self.limiter, asked, at) }
    }

    /// What the stance says when the store could not answer.
    fn without_store<T>(&self, request: &RequestHead<'_>, error: &StoreError) -> Step<T, H::Guard> {
        match self.answers.on_store_error {
            OnStoreError::Allow => {
                Step::Pass(Pass { marks: Marks::degraded(), guard: H::Guard::default() })
            }
            OnStoreError::Deny => Step::Answer(self.refuse(&Refused::StoreFailed(error), request)),
        }
    }

    fn refuse(&self, refused: &Refused<'_>, request: &RequestHead<'_>) -> Response<Bytes> {
        #[cfg(feature = "grpc")]
        if crate::grpc::is_call(request) {
            return crate::grpc::refuse(refused);
        }
        #[cfg(not(feature = "grpc"))]
        let _ = request;
        let mut response = match &self.answers.respond {
            Some(respond) => respond(refused),
            None => refuse(refused, self.answers.format),
        };
        advise(refused, &mut response);
        response
    }
}
