//! In axum: through its router, over real sockets, and with clients that nobody here wrote.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

mod peers;
mod router;
mod socket;
