//! Where state lives: the one trait every store has.

use std::future::Future;

use crate::check::Check;
use crate::decision::{Decision, Verdict};
use crate::time::Timestamp;

/// A keeper of state that decides whole requests.
///
/// One call is one decision over all its checks, atomic against every other call, in one round
/// trip, by the store's own clock. A denial is a [`Verdict`]; an error means that the store broke.
///
/// # Examples
///
/// ```
/// use tidegate::{Check, Cost, Key, Store, StoreError};
///
/// async fn pass<S: Store>(store: &S, checks: &[Check<'_>]) -> Result<bool, StoreError> {
///     Ok(store.take(checks).await?.is_allowed())
/// }
/// ```
pub trait Store: Send + Sync {
    /// The future of a verdict; it borrows nothing.
    type Take: Future<Output = Result<Verdict, StoreError>> + Send + 'static;
    /// The future of an operation without an answer; it borrows nothing.
    type Done: Future<Output = Result<(), StoreError>> + Send + 'static;

    /// Decides all checks together: what they take is taken when every one of them is allowed, and
    /// otherwise nothing is. Checks in mode debit are charged in either case.
    fn take(&self, checks: &[Check<'_>]) -> Self::Take;

    /// Decides each check on its own, in order, in one call.
    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take;

    /// Decides one check at once, in a store that never has to be waited for. Others give none, and
    /// have taken nothing then: [`Store::take`] is to be asked.
    #[inline]
    fn take_now(&self, _check: &Check<'_>) -> Option<Decision> {
        None
    }

    /// Gives back what the checks took at `taken_at` (see [`Verdict::at`]): never above full, into
    /// the window where it was taken, and nothing when that window is over.
    fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Self::Done;

    /// Forgets what the keys of these checks have used, under every limit of their policies.
    fn reset(&self, checks: &[Check<'_>]) -> Self::Done;
}

macro_rules! stores_by_pointer {
    ($(<$($lifetime:lifetime,)? S> $pointer:ty),*) => {$(
        impl<$($lifetime,)? S: Store + ?Sized> Store for $pointer {
            type Take = S::Take;
            type Done = S::Done;

            #[inline]
            fn take(&self, checks: &[Check<'_>]) -> Self::Take {
                S::take(self, checks)
            }

            #[inline]
            fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
                S::take_each(self, checks)
            }

            #[inline]
            fn take_now(&self, check: &Check<'_>) -> Option<Decision> {
                S::take_now(self, check)
            }

            #[inline]
            fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Self::Done {
                S::refund(self, checks, taken_at)
            }

            #[inline]
            fn reset(&self, checks: &[Check<'_>]) -> Self::Done {
                S::reset(self, checks)
            }
        }
    )*};
}
stores_by_pointer!(<'a, S> &'a S, <S> std::sync::Arc<S>);

/// A store that could not answer. It is never a denial, and never a caller's mistake.
///
/// # Examples
///
/// ```
/// use tidegate::{StoreError, StoreErrorKind};
///
/// let error = StoreError::new(StoreErrorKind::Timeout, "no answer within 50ms");
/// assert_eq!(error.to_string(), "store timed out: no answer within 50ms");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("store {kind}: {message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
}

impl StoreError {
    /// An error of this kind; the message says what happened and names no secret.
    #[must_use]
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> StoreError {
        StoreError { kind, message: message.into() }
    }

    /// What kind of failure it was.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

/// The kinds of store failure.
///
/// # Examples
///
/// ```
/// use tidegate::StoreErrorKind;
///
/// assert_eq!(StoreErrorKind::Timeout.label(), "timeout");
/// assert_eq!(StoreErrorKind::ALL.len(), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// No connection, or it was lost.
    Unavailable,
    /// No answer within the store's deadline.
    Timeout,
    /// The store refused our credentials.
    Auth,
    /// Data that is not ours, or not readable, lies where our state belongs; it was left as it is.
    ForeignData,
    /// An answer of the store that makes no sense, or an error of its own.
    Protocol,
}

impl StoreErrorKind {
    /// Every kind there is.
    pub const ALL: [StoreErrorKind; 5] = [
        StoreErrorKind::Unavailable,
        StoreErrorKind::Timeout,
        StoreErrorKind::Auth,
        StoreErrorKind::ForeignData,
        StoreErrorKind::Protocol,
    ];

    /// One lowercase word, for metrics and logs.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            StoreErrorKind::Unavailable => "unavailable",
            StoreErrorKind::Timeout => "timeout",
            StoreErrorKind::Auth => "auth",
            StoreErrorKind::ForeignData => "foreign_data",
            StoreErrorKind::Protocol => "protocol",
        }
    }
}

impl std::fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StoreErrorKind::Unavailable => "unavailable",
            StoreErrorKind::Timeout => "timed out",
            StoreErrorKind::Auth => "refused the credentials",
            StoreErrorKind::ForeignData => "holds foreign data",
            StoreErrorKind::Protocol => "answered wrongly",
        })
    }
}
