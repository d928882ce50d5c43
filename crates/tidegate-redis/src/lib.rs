//! The Redis and Valkey store of the Tidegate rate limiter.
//!
//! [`RedisStore`] decides a whole request, with all its checks and all their limits, in one script
//! call on Redis or Valkey 6.2 or later, by the server's own clock. It gives the same answers as
//! [`tidegate::MemoryStore`], to the microsecond.
//!
//! ```no_run
//! use tidegate::{Check, Cost, Key, Limit, Policy, Store};
//! use tidegate_redis::{RedisConfig, RedisStore};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy::new("api", [Limit::quota("burst", "5 per second")?])?;
//! let store = RedisStore::new(RedisConfig::default());
//! let verdict = store.take(&[Check::take(Key::new("alice")?, &policy, Cost::ONE)]).await?;
//! assert!(verdict.is_allowed());
//! # Ok(())
//! # }
//! ```

mod config;
mod error;
mod key;
mod link;
mod reply;
mod request;
mod script;
mod store;

pub use config::{Address, RedisConfig, Secret};
pub use redis::aio::ConnectionManager;
pub use store::RedisStore;
