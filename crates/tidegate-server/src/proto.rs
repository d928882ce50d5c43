//! The gRPC messages and services, as `proto/gen` wrote them from `proto/`.

/// The package `ratelimiter.v1`.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated")]
#[allow(unused_qualifications, rust_2018_idioms, reason = "generated")]
#[path = "proto/generated/ratelimiter_v1.rs"]
pub mod v1;

/// The package's descriptors, for those who ask by reflection.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!("proto/generated/ratelimiter_v1.bin");
