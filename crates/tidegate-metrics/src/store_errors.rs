//! How often a store could not answer.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate::StoreErrorKind;

use crate::page::Page;

/// Calls that a store could not answer, by the kind of failure.
#[derive(Debug, Default)]
pub struct StoreErrors([AtomicU64; StoreErrorKind::ALL.len()]);

impl StoreErrors {
    /// Counts a failure.
    pub fn count(&self, kind: StoreErrorKind) {
        if let Some(place) = StoreErrorKind::ALL.iter().position(|known| *known == kind) {
            // Relaxed: a count stands alone.
            self.0[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes them.
    pub fn write(&self, page: &mut Page) {
        page.counter("ratelimiter_store_errors", "Calls that the store could not answer.");
        for (kind, count) in StoreErrorKind::ALL.iter().zip(&self.0) {
            let labels = [("kind", kind.label())];
            page.sample("ratelimiter_store_errors_total", &labels, count.load(Ordering::Relaxed));
        }
    }
}
