//! What holds every Tidegate store to one truth.
//!
//! [`oracle`] is a slow, exact model of every algorithm; [`suite`] is the list of behaviours that
//! any store must show; [`vectors`] replays facts taken from other limiters' tests and documents.
//! A store joins by implementing [`Rig`]: the store itself and a clock that the test can set.
//! [`RedisServer`] is a Redis server of a test's own, [`free_port`] a port for any other.

pub mod oracle;
pub mod scenario;
pub mod suite;
pub mod vectors;

mod redis_server;
mod rig;

pub use redis_server::{RedisServer, free_port};
pub use rig::{MemoryRig, Rig, block_on_ready};
