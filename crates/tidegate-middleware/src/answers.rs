//! From a store's verdict to what becomes of a request.

use std::fmt;

use tidegate::{Decision, HeaderDialect, Limiter, StoreError, Timestamp, Verdict};

use crate::asked::{Asked, Item};
use crate::marks::{Field, FieldText, Fields, Marks};
use crate::problem::Format;
use crate::refused::{OnStoreError, Refused};

/// How requests are answered. `F` is what makes responses of one's own.
#[derive(Clone, Copy)]
pub struct Answers<F = ()> {
    /// What headers say of limits.
    pub dialect: HeaderDialect,
    /// What the bodies of refusals are.
    pub format: Format,
    /// What happens when the store cannot answer.
    pub on_store_error: OnStoreError,
    /// What makes refusals, in place of the ready ones.
    pub respond: Option<F>,
}

impl<F> Default for Answers<F> {
    fn default() -> Answers<F> {
        Answers {
            dialect: HeaderDialect::default(),
            format: Format::default(),
            on_store_error: OnStoreError::default(),
            respond: None,
        }
    }
}

impl<F> fmt::Debug for Answers<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers")
            .field("dialect", &self.dialect)
            .field("format", &self.format)
            .field("on_store_error", &self.on_store_error)
            .finish_non_exhaustive()
    }
}

/// What becomes of a request on which the store was asked.
#[derive(Debug)]
pub enum Settled<A> {
    /// It passes.
    Pass {
        /// What its answer is to say.
        marks: Marks,
        /// When it was charged; it was not when the store could not answer.
        taken_at: Option<Timestamp>,
    },
    /// It is answered so.
    Answer(A),
}

impl<F> Answers<F> {
    /// What a store's answer means for the request; the limiter's observer is told of it. A refusal is
    /// made by `refuse`, and so are the headers that belong to it.
    #[inline]
    pub fn settle<S, A>(
        &self,
        limiter: &Limiter<S>,
        asked: &Asked<'_>,
        answer: Result<Verdict, StoreError>,
        refuse: impl FnOnce(&Refused<'_>, Marks) -> A,
    ) -> Settled<A> {
        let verdict = match asked.heard(limiter, self.on_store_error, answer) {
            Ok(verdict) => verdict,
            Err(error) => return self.without_store(&error, refuse),
        };
        let governing = verdict.governing();
        let taken_at = verdict.is_allowed().then(|| verdict.at());
        match (asked.item(governing), verdict.decisions().get(governing)) {
            (Some(item), Some(decision)) => match taken_at {
                Some(at) => {
                    Settled::Pass { marks: self.marks(asked, item, decision), taken_at: Some(at) }
                }
                None => Settled::Answer(self.limited(asked, item, decision, refuse)),
            },
            // Nothing was asked: an answer that lacks a decision is a failure of the store already.
            _ => Settled::Pass { marks: Marks::default(), taken_at },
        }
    }

    /// What its answer says of a request that passes, or of one that does not, by a decision on one of
    /// the things that it asked.
    #[inline]
    #[must_use]
    pub fn marks(&self, asked: &Asked<'_>, governing: &Item<'_>, decision: &Decision) -> Marks {
        let policies = asked.items().map(Item::policy);
        Marks::of(self.dialect, policies, governing.policy(), decision)
    }

    /// The answer to a request that is over a limit.
    #[cold]
    pub fn limited<A>(
        &self,
        asked: &Asked<'_>,
        governing: &Item<'_>,
        decision: &Decision,
        refuse: impl FnOnce(&Refused<'_>, Marks) -> A,
    ) -> A {
        let marks = self.marks(asked, governing, decision);
        refuse(&Refused::Limited { policy: governing.policy(), decision }, marks)
    }

    /// What the stance says when the store could not answer.
    #[cold]
    fn without_store<A>(
        &self,
        error: &StoreError,
        refuse: impl FnOnce(&Refused<'_>, Marks) -> A,
    ) -> Settled<A> {
        match self.on_store_error {
            OnStoreError::Allow => Settled::Pass { marks: Marks::degraded(), taken_at: None },
            OnStoreError::Deny => {
                Settled::Answer(refuse(&Refused::StoreFailed(error), Marks::default()))
            }
        }
    }
}

impl Refused<'_> {
    /// Says in an answer's headers when to come back, unless they say so already.
    pub fn advise(&self, fields: &mut impl Fields) {
        if let Some(wait) = self.retry_after() {
            fields.set_new(Field::RetryAfter, FieldText::number(wait));
        }
    }
}
