//! The middleware in virtual time, in apps, over Redis, and over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

mod answers;
mod apps;
mod fixture;
mod hooks;
mod keys;
mod limits;
mod observed;
mod redis;
mod socket;
