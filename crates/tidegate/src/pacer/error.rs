//! Why one who waited did not pass.

use crate::amount::{Amount, Cost};
use crate::store::StoreError;
use crate::time::Span;

/// Why one who waited did not pass. Whatever the reason, nothing was taken.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, PaceError, Span};
///
/// let error = PaceError::TooLong { wait: Some(Span::from_secs(5)) };
/// assert_eq!(error.to_string(), "cannot pass in time; it takes 5s");
/// let error = PaceError::Exceeds { cost: Amount::from_units(6), limit: Amount::from_units(5) };
/// assert_eq!(error.to_string(), "cost 6 exceeds the limit of 5 and never passes");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaceError {
    /// The cost cannot pass before the deadline.
    #[error("cannot pass in time{}", told(*wait))]
    TooLong {
        /// How long it takes at least; none when only the deadline itself has told.
        wait: Option<Span>,
    },
    /// The cost is more than a limit can ever hold.
    #[error("cost {cost} exceeds the limit of {limit} and never passes")]
    Exceeds {
        /// What was asked.
        cost: Cost,
        /// The most that the limit holds.
        limit: Amount,
    },
    /// As many wait already as may.
    #[error("{waiting} wait already; try again later, or allow more to wait")]
    Crowded {
        /// How many wait.
        waiting: usize,
    },
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn told(wait: Option<Span>) -> String {
    wait.map(|wait| format!("; it takes {wait}")).unwrap_or_default()
}
