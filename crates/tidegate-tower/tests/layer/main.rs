//! The layer in virtual time, around a service that only says that it was reached.

mod fixture;
mod limits;
