//! Watching decisions: for metrics and logs.

mod stopwatch;

use std::fmt;
use std::sync::Arc;

pub use stopwatch::Stopwatch;

use crate::check::Check;
use crate::decision::{Outcome, Verdict};
use crate::limit::Limit;
use crate::mode::Mode;
use crate::policy::Policy;
use crate::store::StoreError;
use crate::time::Span;

/// Hears of every decision: of a [`Limiter`](crate::Limiter), a [`Pacer`](crate::Pacer), or a
/// middleware.
///
/// It is called on the way of the request, so it should be quick; the crate `tidegate-metrics` has one
/// that counts for Prometheus.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use tidegate::{Limit, Limiter, MemoryStore, Observer, Outcome, Policy, Span, StoreError};
///
/// #[derive(Default)]
/// struct Denials(AtomicUsize);
///
/// impl Observer for Denials {
///     fn decision(
///         &self,
///         _policy: &Policy,
///         _limit: Option<&Limit>,
///         outcome: Result<Outcome, &StoreError>,
///         _elapsed: Span,
///     ) {
///         if outcome.is_ok_and(|outcome| outcome != Outcome::Allow) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let denials = Arc::new(Denials::default());
/// let policy = Policy::new("api", [Limit::quota("burst", "1/hour")?])?;
/// let limiter = Limiter::new(MemoryStore::new(), policy).with_observer(denials.clone());
/// limiter.check("alice")?;
/// limiter.check("alice")?;
/// assert_eq!(denials.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Send + Sync + 'static {
    /// A check under `policy` was decided; what only looks is not told.
    ///
    /// `limit` is the one that governed, none when the store failed. `elapsed` is how long the store
    /// took for the call that the check came in.
    fn decision(
        &self,
        policy: &Policy,
        limit: Option<&Limit>,
        outcome: Result<Outcome, &StoreError>,
        elapsed: Span,
    );

    /// A call could not be answered by the store: told once, however many checks it has, and before
    /// them.
    fn store_failed(&self, _error: &StoreError) {}

    /// So many checks were answered without the store, since it failed: let through, or refused. Told
    /// by a middleware, which has a stance for that; a [`Limiter`](crate::Limiter) has none.
    fn degraded(&self, _let_through: bool, _checks: u64) {}

    /// The checks of one all-or-nothing call were answered: tells of each, except those that only
    /// look. For a middleware that asks a store itself.
    ///
    /// What would have passed and took nothing, because another check was denied, counts as denied.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Check, Observer, Stopwatch, Store, StoreError, Verdict};
    ///
    /// async fn take<S: Store>(
    ///     store: &S,
    ///     observer: &dyn Observer,
    ///     checks: &[Check<'_>],
    /// ) -> Result<Verdict, StoreError> {
    ///     let watch = Stopwatch::start();
    ///     let answer = store.take(checks).await;
    ///     observer.answered(checks, answer.as_ref(), watch.elapsed());
    ///     answer
    /// }
    /// ```
    fn answered(&self, checks: &[Check<'_>], answer: Result<&Verdict, &StoreError>, elapsed: Span) {
        if let Err(error) = answer {
            self.store_failed(error);
        }
        let decisions = answer.map(Verdict::decisions);
        // A debit is charged, and counts, whatever becomes of the others.
        let is_void = decisions.is_ok_and(|decisions| {
            let mut asked = checks.iter().zip(decisions);
            asked.any(|(check, decision)| check.mode == Mode::Take && !decision.is_allowed())
        });
        for (place, check) in checks.iter().enumerate() {
            if check.mode == Mode::Peek || check.cost.is_zero() {
                continue;
            }
            match decisions.map(|decisions| decisions.get(place)) {
                Err(error) => self.decision(check.policy, None, Err(error), elapsed),
                Ok(None) => {}
                Ok(Some(decision)) => {
                    let limit = check.policy.limits().get(decision.limit_index);
                    let is_void = is_void && check.mode == Mode::Take && decision.is_allowed();
                    let outcome = if is_void { Outcome::Deny } else { decision.outcome };
                    self.decision(check.policy, limit, Ok(outcome), elapsed);
                }
            }
        }
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn decision(
        &self,
        policy: &Policy,
        limit: Option<&Limit>,
        outcome: Result<Outcome, &StoreError>,
        elapsed: Span,
    ) {
        O::decision(self, policy, limit, outcome, elapsed);
    }

    fn store_failed(&self, error: &StoreError) {
        O::store_failed(self, error);
    }

    fn degraded(&self, let_through: bool, checks: u64) {
        O::degraded(self, let_through, checks);
    }

    fn answered(&self, checks: &[Check<'_>], answer: Result<&Verdict, &StoreError>, elapsed: Span) {
        O::answered(self, checks, answer, elapsed);
    }
}

/// An observer where there may be one.
#[derive(Clone, Default)]
pub(crate) struct Watch(Option<Arc<dyn Observer>>);

impl Watch {
    pub(crate) fn by(observer: impl Observer) -> Watch {
        Watch(Some(Arc::new(observer)))
    }

    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.0.as_ref()
    }

    /// Begins to measure, where somebody wants to know.
    #[inline]
    pub(crate) fn start(&self) -> Option<Stopwatch> {
        self.0.as_ref().map(|_| Stopwatch::start())
    }

    /// Tells of an answer, if somebody wanted to know when it was asked for.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell(
        &self,
        started: Stopwatch,
        checks: &[Check<'_>],
        answer: Result<&Verdict, &StoreError>,
    ) {
        if let Some(observer) = &self.0 {
            observer.answered(checks, answer, started.elapsed());
        }
    }

    /// Tells of the answers to checks that were decided each on its own.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_each(&self, started: Stopwatch, checks: &[Check<'_>], verdict: &Verdict) {
        let Some(observer) = &self.0 else { return };
        let elapsed = started.elapsed();
        for (check, decision) in checks.iter().zip(verdict.decisions()) {
            let own = Verdict::one(verdict.at(), *decision);
            observer.answered(std::slice::from_ref(check), Ok(&own), elapsed);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "observed" } else { "unobserved" })
    }
}
