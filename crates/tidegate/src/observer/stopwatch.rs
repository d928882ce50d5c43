//! How long something took, for those who watch.

use std::time::Instant;

use crate::time::Span;

/// Measures how long something takes. It decides nothing: decisions take the time from a
/// [`Clock`](crate::Clock).
///
/// # Examples
///
/// ```
/// use tidegate::{Span, Stopwatch};
///
/// let watch = Stopwatch::start();
/// assert!(watch.elapsed() < Span::from_secs(3_600));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "it measures, and decides nothing")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The time since it began.
    #[must_use]
    pub fn elapsed(self) -> Span {
        self.0.elapsed().into()
    }
}
