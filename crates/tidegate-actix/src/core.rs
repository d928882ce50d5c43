//! From a request to what becomes of it.

use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use actix_web::{HttpMessage, HttpResponse};
use tidegate::{Limiter, Store, StoreError, Verdict};
use tidegate_middleware::{Answers, Asked, Degraded, Marks, Refused, Settled, at_once};

use crate::hook::Hook;
use crate::http::{Lines, refuse};
use crate::rules::Rules;

/// What a middleware and its services share.
#[derive(Debug)]
pub(crate) struct Core<S, R, P, H> {
    pub(crate) limiter: Arc<Limiter<S>>,
    pub(crate) rules: R,
    pub(crate) prelude: Arc<P>,
    pub(crate) hooks: H,
    pub(crate) answers: Answers<Respond>,
}

/// How a response of one's own is made.
pub(crate) type Respond = Arc<dyn Fn(&Refused<'_>) -> HttpResponse + Send + Sync>;

/// What becomes of a request.
pub(crate) enum Step<T, G> {
    /// It goes on to the service.
    Pass(Pass<G>),
    /// It is answered here.
    Answer(HttpResponse),
    /// The store has yet to say.
    Wait(T, Asked<'static>),
}

/// What a request takes along to the service and back.
#[derive(Debug, Default)]
pub(crate) struct Pass<G> {
    pub(crate) marks: Marks,
    pub(crate) guard: G,
}

impl<G> Pass<G> {
    /// Tells the service what it should know.
    pub(crate) fn tell(&self, request: &ServiceRequest) {
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
    pub(crate) fn ask(&self, request: &ServiceRequest) -> Step<S::Take, H::Guard> {
        let mut asked = Asked::default();
        if let Err(reason) = self.rules.ask(request, &mut asked) {
            return Step::Answer(self.refuse(&Refused::BadRequest(reason.as_str())));
        }
        if asked.is_empty() {
            return Step::Pass(Pass::default());
        }
        let take = match asked.take(&self.limiter) {
            Ok(take) => take,
            Err(error) => {
                return Step::Answer(self.refuse(&Refused::BadRequest(&error.to_string())));
            }
        };
        match at_once(take) {
            Ok(verdict) => self.settle(asked, verdict),
            Err(take) => Step::Wait(take, asked.into_owned()),
        }
    }

    /// What a verdict means for the request.
    pub(crate) fn settle<T>(
        &self,
        asked: Asked<'_>,
        verdict: Result<Verdict, StoreError>,
    ) -> Step<T, H::Guard> {
        let settled = self.answers.settle(&self.limiter, &asked, verdict, |refused, mut marks| {
            let mut response = self.refuse(refused);
            marks.write(&mut Lines(response.headers_mut()));
            response
        });
        match settled {
            Settled::Pass { marks, taken_at } => {
                let guard = taken_at.map(|at| self.hooks.open(&self.limiter, asked, at));
                Step::Pass(Pass { marks, guard: guard.unwrap_or_default() })
            }
            Settled::Answer(response) => Step::Answer(response),
        }
    }

    fn refuse(&self, refused: &Refused<'_>) -> HttpResponse {
        let mut response = match &self.answers.respond {
            Some(respond) => respond(refused),
            None => refuse(refused, self.answers.format),
        };
        refused.advise(&mut Lines(response.headers_mut()));
        response
    }
}
