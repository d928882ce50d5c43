//! Why a paced call failed.

use std::fmt;

use tidegate::PaceError;
use tidegate_middleware::Reason;

/// Why a paced call failed: in the service inside, or before it was called.
///
/// # Examples
///
/// ```
/// use tidegate::{PaceError, Span};
/// use tidegate_tower::PaceFailure;
///
/// let failure: PaceFailure<std::io::Error> = PaceError::TooLong { wait: None }.into();
/// assert_eq!(failure.to_string(), "the call was not made: cannot pass in time");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PaceFailure<E> {
    /// The service inside failed.
    Inner(E),
    /// The call could not wait for its turn, and was not made.
    Wait(PaceError),
    /// Whom the call counts for is not known, and it was not made.
    Key(Reason),
}

impl<E> From<PaceError> for PaceFailure<E> {
    fn from(error: PaceError) -> PaceFailure<E> {
        PaceFailure::Wait(error)
    }
}

impl<E: fmt::Display> fmt::Display for PaceFailure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaceFailure::Inner(error) => error.fmt(f),
            PaceFailure::Wait(error) => write!(f, "the call was not made: {error}"),
            PaceFailure::Key(reason) => write!(f, "the call was not made: {reason}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for PaceFailure<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PaceFailure::Inner(error) => Some(error),
            PaceFailure::Wait(error) => Some(error),
            PaceFailure::Key(_) => None,
        }
    }
}
