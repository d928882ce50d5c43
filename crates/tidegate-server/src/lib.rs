//! The Tidegate rate limiter as a service.

pub mod cli;
pub mod config;
pub mod settings;
