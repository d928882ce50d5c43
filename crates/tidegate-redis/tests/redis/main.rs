//! The store against real servers, each test with its own.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

mod differential;
mod fixture;
mod keys;
mod kit;
mod outage;
mod pacing;
mod races;
mod scripts;
mod sharing;
mod skew;
mod state;
mod upheaval;
