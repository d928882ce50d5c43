//! Tidegate decides whether a request may pass.
//!
//! A [`Limit`] says how much; a [`Policy`] is a named set of limits that must all agree; a
//! [`Store`] keeps what each key has used. [`Limiter`] is the easy front: one policy over one
//! store.
//!
//! ```
//! use tidegate::{Limit, Limiter, MemoryStore, Policy};
//!
//! let policy = Policy::new("api", [Limit::quota("burst", "5 per second")?])?;
//! let limiter = Limiter::new(MemoryStore::new(), policy);
//! for _ in 0..5 {
//!     assert!(limiter.check("alice")?.is_allowed());
//! }
//! let denied = limiter.check("alice")?;
//! assert!(!denied.is_allowed());
//! assert!(denied.retry_after.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Times are whole nanoseconds, amounts whole millionths of a unit, rates fractions: nothing here
//! is a floating point number, so an answer is exact and the same on every machine and store.

mod algorithm;
mod amount;
mod check;
mod clock;
mod decision;
mod fields;
mod key;
mod layout;
mod limit;
mod limiter;
mod memory;
mod mode;
mod name;
mod notation;
mod observer;
mod pacer;
mod policy;
mod store;
mod time;
mod timer;

pub use amount::{Amount, AmountError, Cost, Rate};
pub use check::Check;
pub use clock::{Clock, ManualClock, SystemClock};
pub use decision::{Decision, Outcome, Verdict};
pub use fields::HeaderDialect;
pub use key::{Key, KeyError};
pub use limit::{Algorithm, Align, Limit, LimitError};
pub use limiter::Limiter;
pub use memory::{MemoryConfig, MemoryStore, Overflow};
pub use mode::Mode;
pub use name::{Name, NameError};
pub use notation::{NotationError, Quota, parse_span};
pub use observer::{Observer, Stopwatch};
pub use pacer::{PaceError, Pacer};
pub use policy::{Policy, PolicyError, PolicyTable};
pub use store::{Store, StoreError, StoreErrorKind};
pub use time::{Span, Timestamp};
#[cfg(feature = "tokio")]
pub use timer::TokioTimer;
pub use timer::{Errand, ManualSleep, ManualTimer, Timer};
