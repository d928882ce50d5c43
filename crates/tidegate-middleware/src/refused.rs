//! Why a request does not get through, and whether a store's failure is a reason.

use std::fmt;

use tidegate::{Decision, Outcome, Policy, StoreError};

/// Why a request is answered in place of the service: what a response of one's own is made from.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::Refused;
///
/// assert_eq!(Refused::BadRequest("no such user").to_string(), "no such user");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Refused<'a> {
    /// A limit does not allow it: not now, or never.
    Limited {
        /// The policy that governs.
        policy: &'a Policy,
        /// Its decision: a denial, or that the cost exceeds the limit.
        decision: &'a Decision,
    },
    /// There is no key in it, or no cost could be found; the text says which.
    BadRequest(&'a str),
    /// The store could not answer, and the stance is to deny.
    StoreFailed(&'a StoreError),
}

impl Refused<'_> {
    /// The status of its answer: 429, 400 or 503.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Refused::Limited { .. } => 429,
            Refused::BadRequest(_) => 400,
            Refused::StoreFailed(_) => 503,
        }
    }

    /// When to come back, in whole seconds: of a denial alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Refused::Limited { decision, .. } => decision.retry_after_secs(),
            Refused::BadRequest(_) | Refused::StoreFailed(_) => None,
        }
    }

    /// The limit that governs, when it was a limit.
    pub(crate) fn limit(&self) -> Option<&str> {
        match self {
            Refused::Limited { policy, decision } => {
                policy.limits().get(decision.limit_index).map(|limit| limit.name().as_str())
            }
            Refused::BadRequest(_) | Refused::StoreFailed(_) => None,
        }
    }
}

/// As it is told to whoever asked: nothing about the store.
impl fmt::Display for Refused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Limited { decision, .. } if decision.outcome == Outcome::Exceeds => {
                "cost exceeds limit"
            }
            Refused::Limited { .. } => "rate limit exceeded",
            Refused::BadRequest(reason) => reason,
            Refused::StoreFailed(_) => "service unavailable",
        })
    }
}

/// What happens to requests when the store cannot answer.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::OnStoreError;
///
/// assert_eq!(OnStoreError::default(), OnStoreError::Deny);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStoreError {
    /// They are answered with 503 `service unavailable`.
    #[default]
    Deny,
    /// They pass, with [`Degraded`] in their extensions and `X-RateLimit-Degraded: 1` on their answers.
    Allow,
}

/// Left in the extensions of a request that passes because the store could not answer (see
/// [`OnStoreError::Allow`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degraded;
