//! How often a store could not answer, and what was done without it.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate::StoreErrorKind;

use crate::page::Page;

/// The stances, in the order of the counters.
const STANCES: [&str; 2] = ["deny", "allow"];

/// Calls that a store could not answer, by the kind of failure; and the checks that were answered
/// without it, by the stance taken.
///
/// # Examples
///
/// ```
/// use tidegate::StoreErrorKind;
/// use tidegate_metrics::{Format, Page, StoreErrors};
///
/// let errors = StoreErrors::default();
/// errors.count(StoreErrorKind::Timeout);
/// errors.degraded(true, 3);
/// let mut page = Page::new(Format::Text);
/// errors.write(&mut page);
/// let text = page.finish();
/// assert!(text.contains("ratelimiter_store_errors_total{kind=\"timeout\"} 1\n"));
/// assert!(text.contains("ratelimiter_degraded_decisions_total{stance=\"allow\"} 3\n"));
/// ```
#[derive(Debug, Default)]
pub struct StoreErrors {
    kinds: [AtomicU64; StoreErrorKind::ALL.len()],
    degraded: [AtomicU64; STANCES.len()],
}

// Relaxed: each count stands alone.
impl StoreErrors {
    /// Counts a failure.
    pub fn count(&self, kind: StoreErrorKind) {
        if let Some(place) = StoreErrorKind::ALL.iter().position(|known| *known == kind) {
            self.kinds[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts checks that were answered without the store: let through, or refused.
    pub fn degraded(&self, let_through: bool, checks: u64) {
        self.degraded[usize::from(let_through)].fetch_add(checks, Ordering::Relaxed);
    }

    /// Writes them.
    pub fn write(&self, page: &mut Page) {
        page.counter("ratelimiter_store_errors", "Calls that the store could not answer.");
        for (kind, count) in StoreErrorKind::ALL.iter().zip(&self.kinds) {
            let labels = [("kind", kind.label())];
            page.sample("ratelimiter_store_errors_total", &labels, count.load(Ordering::Relaxed));
        }
        let help = "Checks answered without the store, by the stance taken.";
        page.counter("ratelimiter_degraded_decisions", help);
        for (stance, count) in STANCES.iter().zip(&self.degraded) {
            let (labels, count) = ([("stance", *stance)], count.load(Ordering::Relaxed));
            page.sample("ratelimiter_degraded_decisions_total", &labels, count);
        }
    }
}
