//! Waiting in place of being denied: fair, exact, and without a trace of those who went away.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

mod driver;
mod late;
mod memory;
mod patience;
