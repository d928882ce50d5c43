//! The Tidegate rate limiter as middleware for tower: for axum, hyper, tonic, and whatever else
//! speaks [`http`](::http) types through [`tower_service::Service`].
//!
//! [`RateLimitLayer`] asks a [`Limiter`](tidegate::Limiter) about each request: for whom
//! ([`Extractor`]: the peer's address, a header, anything), at what cost, under which limits. What
//! may not pass is answered with 429 `rate limit exceeded` and never reaches the service.
//!
//! ```
//! use tidegate::{Limit, Limiter, MemoryStore, Policy};
//! use tidegate_tower::{PeerIp, RateLimitLayer};
//!
//! let policy = Policy::new("api", [Limit::quota("burst", "100/minute burst 20")?])?;
//! let limiter = Limiter::new(MemoryStore::new(), policy);
//! let layer = RateLimitLayer::new(limiter).key(PeerIp::default());
//! # let _ = layer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The decision is made when the service is called. Over a [`MemoryStore`](tidegate::MemoryStore) it
//! is made there and then: an allowed request costs no allocation, no lock of this crate, no task.
//!
//! The [`guide`] says which algorithm and which key to choose, and much else.
//!
//! [`PaceLayer`] is for the other side: a client that waits until it may call, and so keeps to the
//! limits of those it calls.

mod body;
mod core;
mod future;
#[cfg(feature = "grpc")]
mod grpc;
pub mod guide;
mod head;
mod hook;
mod http;
mod key;
mod layer;
mod pace;
mod parked;
mod prelude;
mod rules;
mod service;

pub use body::Body;
pub use future::ResponseFuture;
#[cfg(feature = "grpc")]
pub use grpc::{MessageFuture, MessageLimit, MessageLimitLayer};
pub use head::{PeerAddr, RequestHead};
pub use hook::{Guard, Hook, Hooks, NoHooks, ResponseHead, Served, Tab};
#[cfg(feature = "axum")]
pub use key::MatchedRoute;
pub use key::{ByMethod, Costed, Extractor, ForwardedIp, Header, Or, OrSkip};
pub use layer::RateLimitLayer;
pub use pace::{
    Advice, NoAdvice, OneKey, PaceFailure, PaceKey, PaceLayer, Paced, RetryAfter, retry_after,
};
pub use prelude::{Awaited, NoPrelude, Prelude, Resolved};
pub use rules::{And, OneUnit, Price, Rule, Rules};
pub use service::RateLimit;
pub use tidegate_middleware::{
    AddressKey, Ask, Charge, Cidr, CidrError, Degraded, Extension, IntoCost, IntoKey, KeyBuf,
    OnStoreError, PeerIp, Reason, Refused, Terms, Trust,
};

/// The examples of the project's README, compiled and run: here since some of them are of this crate,
/// and the library below it must not know it.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
