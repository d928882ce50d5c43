//! Prometheus metrics of the Tidegate rate limiter, with the names, labels and buckets that its service
//! has too.
//!
//! [`PrometheusObserver`] is told of every decision of a [`Limiter`](tidegate::Limiter), a
//! [`Pacer`](tidegate::Pacer) or a middleware, and writes the page that Prometheus reads.
//!
//! ```
//! use std::sync::Arc;
//! use tidegate::{Limit, Limiter, MemoryStore, Policy};
//! use tidegate_metrics::{Format, PrometheusObserver};
//!
//! let policy = Policy::new("api", [Limit::quota("burst", "1/hour")?])?;
//! let metrics = Arc::new(PrometheusObserver::new().with_policy(&policy));
//! let limiter = Limiter::new(MemoryStore::new(), policy).with_observer(metrics.clone());
//! limiter.check("alice")?;
//! limiter.check("alice")?;
//!
//! let page = metrics.write(Format::Text);
//! assert!(page.contains("ratelimiter_decisions_total{result=\"allowed\"} 1\n"));
//! let denied = "ratelimiter_policy_decisions_total{policy=\"api\",limit=\"burst\",result=\"denied\"} 1\n";
//! assert!(page.contains(denied));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Counting takes no lock: each thread adds to numbers of its own. No label names a key.

mod decisions;
mod histogram;
mod index;
mod observer;
mod page;
mod sharded;
mod store_errors;

pub use decisions::{Decisions, Ended, PolicyCounters, Tally};
pub use observer::PrometheusObserver;
pub use page::{Format, Page};
pub use store_errors::StoreErrors;
