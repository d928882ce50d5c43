//! Asking a store.

use std::any::Any;
use std::future::Ready;

use tidegate::{
    Decision, KeyError, Limiter, Span, Stopwatch, Store, StoreError, StoreErrorKind, Verdict,
};

use crate::asked::Asked;
use crate::refused::OnStoreError;

impl Asked<'_> {
    /// Begins to ask: the limiter's store for all checks together.
    ///
    /// # Errors
    ///
    /// A key that is empty, or too long.
    #[inline]
    pub fn take<S: Store>(&mut self, limiter: &Limiter<S>) -> Result<S::Take, KeyError> {
        self.started = limiter.observer().map(|_| Stopwatch::start());
        match self.only() {
            // Mostly it is one, which needs no list.
            Some(item) => Ok(limiter.store().take(&[self.check(item)?])),
            None => Ok(limiter.store().take(&self.checks()?)),
        }
    }

    /// Asks a store that need not be waited for, where one thing is all that is asked and nobody
    /// watches; else there is no answer, and [`Asked::take`] is to be called.
    ///
    /// # Errors
    ///
    /// A key that is empty, or too long.
    #[inline]
    pub fn take_now<S: Store>(&self, limiter: &Limiter<S>) -> Result<Option<Decision>, KeyError> {
        match self.only() {
            Some(item) if limiter.observer().is_none() => {
                Ok(limiter.store().take_now(&self.check(item)?))
            }
            _ => Ok(None),
        }
    }

    /// Hears the answer, and tells the limiter's observer of it, and what the stance makes of a failure.
    ///
    /// # Errors
    ///
    /// The store's failure. An answer that has not a decision for each check is one too.
    #[inline]
    pub fn heard<S>(
        &self,
        limiter: &Limiter<S>,
        stance: OnStoreError,
        answer: Result<Verdict, StoreError>,
    ) -> Result<Verdict, StoreError> {
        let answer = answer.and_then(|verdict| whole(verdict, self));
        if let Some(started) = self.started {
            tell(limiter, self, stance, answer.as_ref(), started.elapsed());
        }
        answer
    }
}

#[inline]
fn whole(verdict: Verdict, asked: &Asked<'_>) -> Result<Verdict, StoreError> {
    let (checks, decided) = (asked.len(), verdict.decisions().len());
    if checks == decided {
        return Ok(verdict);
    }
    let message = format!("{decided} decisions on {checks} checks");
    Err(StoreError::new(StoreErrorKind::Protocol, message))
}

#[cold]
fn tell<S>(
    limiter: &Limiter<S>,
    asked: &Asked<'_>,
    stance: OnStoreError,
    answer: Result<&Verdict, &StoreError>,
    elapsed: Span,
) {
    if let (Some(observer), Ok(checks)) = (limiter.observer(), asked.checks()) {
        observer.answered(&checks, answer, elapsed);
        if answer.is_err() {
            let counted = checks.iter().filter(|check| !check.cost.is_zero()).count();
            observer.degraded(stance == OnStoreError::Allow, counted as u64);
        }
    }
}

/// What a store answers that never waits.
type AtOnce = Ready<Result<Verdict, StoreError>>;

/// The answer, when the store's type says that it is there. The compiler knows whether it is.
///
/// # Errors
///
/// The future again, of a store that is waited for.
#[inline]
pub fn at_once<T>(take: T) -> Result<Result<Verdict, StoreError>, T>
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
