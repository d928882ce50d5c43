//! In tonic: single calls and streams, over real sockets, with tonic's own client and with Python's.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

mod calls;
#[path = "../../examples/tonic/echo.rs"]
mod echo;
mod python;
mod server;
mod streams;
