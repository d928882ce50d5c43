//! The Tidegate rate limiter as a service.

mod accept;
pub mod backend;
pub mod cli;
pub mod config;
mod constants;
pub mod explain;
mod face;
mod logging;
mod metrics;
pub mod proto;
mod readiness;
pub mod serve;
pub mod service;
pub mod settings;
pub mod shutdown;
