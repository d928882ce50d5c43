//! The layer in virtual time, around services of the tests' own.

mod answers;
mod fixture;
mod hooks;
mod keys;
mod limits;
mod readiness;
