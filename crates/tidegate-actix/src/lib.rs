//! The Tidegate rate limiter as middleware for actix-web 4.
//!
//! [`RateLimit`] asks a [`Limiter`](tidegate::Limiter) about each request: for whom ([`Extractor`]: the
//! peer's address, a header, anything), at what cost, under which limits. What may not pass is answered
//! with 429 `rate limit exceeded` and never reaches the service.
//!
//! ```no_run
//! use actix_web::{App, HttpServer, web};
//! use tidegate::{Limit, Limiter, MemoryStore, Policy};
//! use tidegate_actix::RateLimit;
//!
//! #[actix_web::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let policy = Policy::new("api", [Limit::quota("peer", "10/minute")?])?;
//!     let limit = RateLimit::new(Limiter::new(MemoryStore::new(), policy));
//!     let app = move || App::new().wrap(limit.clone()).route("/", web::get().to(async || "hello\n"));
//!     HttpServer::new(app).bind(("127.0.0.1", 3000))?.run().await?;
//!     Ok(())
//! }
//! ```
//!
//! The decision is made when the service is called. Over a [`MemoryStore`](tidegate::MemoryStore) it is
//! made there and then: no task, no lock of this crate, no future on the heap. All workers of a server
//! share one limit, as long as they share one [`RateLimit`].
//!
//! What was wrapped last is called first. Middleware that finds out who asks belongs outside of the
//! limit, and so does CORS: then a preflight is not counted, and a page may read the denial.

mod body;
mod core;
mod future;
mod hook;
mod http;
mod key;
mod parked;
mod prelude;
mod rate_limit;
mod rules;
mod service;

pub use body::Body;
pub use future::ResponseFuture;
pub use hook::{Guard, Hook, Hooks, NoHooks, ResponseHead, Served, Tab};
pub use key::{ByMethod, Costed, Extractor, ForwardedIp, Header, MatchedRoute, Or, OrSkip};
pub use prelude::{Awaited, NoPrelude, Prelude, Resolved};
pub use rate_limit::RateLimit;
pub use rules::{And, OneUnit, Price, Rule, Rules};
pub use service::RateLimitService;
pub use tidegate_middleware::{
    AddressKey, Ask, Charge, Cidr, CidrError, Degraded, Extension, IntoCost, IntoKey, KeyBuf,
    OnStoreError, PeerIp, Reason, Refused, Terms, Trust,
};
