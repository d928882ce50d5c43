//! The Tidegate rate limiter as a service.

mod accept;
pub mod backend;
pub mod cli;
pub mod config;
mod constants;
pub mod face;
pub mod logging;
pub mod metrics;
pub mod proto;
pub mod readiness;
pub mod serve;
pub mod service;
pub mod settings;
pub mod shutdown;
