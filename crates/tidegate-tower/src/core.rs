//! From a request to what becomes of it.

use std::any::Any;
use std::future::Ready;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tidegate::{
    HeaderDialect, Limiter, Span, Stopwatch, Store, StoreError, StoreErrorKind, Timestamp, Verdict,
};

use crate::error::{OnStoreError, Refused};
use crate::head::{Degraded, RequestHead};
use crate::headers::Marks;
use crate::hook::Hook;
use crate::http::{Format, advise, refuse};
use crate::rules::{Asked, Item, Rules};

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
            return Step::Answer(self.refuse(&Refused::BadRequest(&reason)));
        }
        if asked.items().is_empty() {
            return Step::Pass(Pass { marks: Marks::default(), guard: H::Guard::default() });
        }
        asked.started = self.limiter.observer().map(|_| Stopwatch::start());
        let take = match asked.checks() {
            Ok(checks) => self.limiter.store().take(&checks),
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
        let verdict = verdict.and_then(|verdict| whole(verdict, &asked));
        if let Some(started) = asked.started {
            self.tell(&asked, verdict.as_ref(), started.elapsed());
        }
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(error) => return self.without_store(asked, &error),
        };
        let governing = verdict.governing();
        let (item, decision) = (&asked.items()[governing], &verdict.decisions()[governing]);
        let policies = asked.items().iter().map(Item::policy);
        let marks = Marks::of(self.answers.dialect, policies, item.policy(), decision);
        if verdict.is_allowed() {
            return Step::Pass(self.pass(marks, asked, verdict.at()));
        }
        let refused = Refused::Limited { policy: item.policy(), decision };
        let mut response = self.refuse(&refused);
        marks.write(response.headers_mut());
        Step::Answer(response)
    }

    /// Tells the limiter's observer of an answer.
    #[cold]
    fn tell(&self, asked: &Asked<'_>, answer: Result<&Verdict, &StoreError>, elapsed: Span) {
        if let (Some(observer), Ok(checks)) = (self.limiter.observer(), asked.checks()) {
            observer.answered(&checks, answer, elapsed);
        }
    }

    fn pass(&self, marks: Marks, asked: Asked<'_>, at: Timestamp) -> Pass<H::Guard> {
        Pass { marks, guard: self.hooks.open(&self.limiter, asked, at) }
    }

    /// What the stance says when the store could not answer.
    fn without_store<T>(&self, asked: Asked<'_>, error: &StoreError) -> Step<T, H::Guard> {
        drop(asked);
        match self.answers.on_store_error {
            OnStoreError::Allow => {
                Step::Pass(Pass { marks: Marks::degraded(), guard: H::Guard::default() })
            }
            OnStoreError::Deny => Step::Answer(self.refuse(&Refused::StoreFailed(error))),
        }
    }

    fn refuse(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let mut response = match &self.answers.respond {
            Some(respond) => respond(refused),
            None => refuse(refused, self.answers.format),
        };
        advise(refused, &mut response);
        response
    }
}

/// The verdict, when it has a decision for each check. One that has not is a failure of the store.
fn whole(verdict: Verdict, asked: &Asked<'_>) -> Result<Verdict, StoreError> {
    let (checks, decided) = (asked.items().len(), verdict.decisions().len());
    if checks == decided {
        return Ok(verdict);
    }
    let message = format!("{decided} decisions on {checks} checks");
    Err(StoreError::new(StoreErrorKind::Protocol, message))
}

/// What a store answers that never waits.
type AtOnce = Ready<Result<Verdict, StoreError>>;

/// The answer, when the store's type says that it is there; else the future again. The compiler knows
/// which of both it is.
fn at_once<T>(take: T) -> Result<Result<Verdict, StoreError>, T>
where
    T: Future<Output = Result<Verdict, StoreError>> + 'static,
{
    let mut slot = Some(take);
    let ready = (&mut slot as &mut dyn Any).downcast_mut::<Option<AtOnce>>();
    match ready.and_then(Option::take) {
        Some(ready) => Ok(ready.into_inner()),
        // Only the other branch empties the slot.
        None => match slot {
            Some(take) => Err(take),
            None => Ok(Err(StoreError::new(StoreErrorKind::Protocol, "no answer"))),
        },
    }
}
