//! The Tidegate rate limiter as a service.

pub mod settings;
