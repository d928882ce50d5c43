//! The Redis and Valkey store of the Tidegate rate limiter.

mod config;

pub use config::{Address, RedisConfig, Secret};
