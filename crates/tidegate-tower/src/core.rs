//! From a request to what becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tidegate::{Limiter, Store, StoreError, Timestamp, Verdict};
use tidegate_middleware::{Answers, Asked, Degraded, Marks, Refused, Settled, at_once};

use crate::head::RequestHead;
use crate::hook::Hook;
use crate::http::{Lines, advise, refuse};
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
        let take = match asked.take(&self.limiter) {
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
        let settled = self.answers.settle(&self.limiter, &asked, verdict, |refused, marks| {
            let mut response = self.refuse(refused, request);
            marks.write(&mut Lines(response.headers_mut()));
            response
        });
        match settled {
            Settled::Pass { marks, taken_at: Some(at) } => Step::Pass(self.pass(marks, asked, at)),
            Settled::Pass { marks, taken_at: None } => {
                Step::Pass(Pass { marks, guard: H::Guard::default() })
            }
            Settled::Answer(response) => Step::Answer(response),
        }
    }

    fn pass(&self, marks: Marks, asked: Asked<'_>, at: Timestamp) -> Pass<H::Guard> {
        Pass { marks, guard: self.hooks.open(&self.limiter, asked, at) }
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
