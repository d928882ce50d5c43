//! Over Redis: the same layer, and what it does when its store is away.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

mod away;
#[path = "../../../tidegate-server/tests/faces/relay.rs"]
mod relay;
mod shared;
mod through;
