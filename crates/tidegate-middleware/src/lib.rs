//! What the middlewares of [`tidegate`] share: `tidegate-tower`, `tidegate-actix`, and one that you
//! may write for another framework.
//!
//! It knows no HTTP library. Headers come and go as bytes, statuses as numbers, addresses as those of
//! the standard library. A middleware finds out about a request by its own means and writes the key
//! ([`KeyBuf`]); [`Asked`] holds what is asked, [`Answers`] turns the store's verdict into what becomes
//! of the request, [`Marks`] into what its answer says of limits, and [`Taken`] gives back or charges
//! more once it is over.
//!
//! ```
//! use std::sync::Arc;
//! use tidegate::{Limit, Limiter, MemoryStore, Policy};
//! use tidegate_middleware::{Answers, Asked, IntoKey, Settled, at_once};
//!
//! let policy = Policy::new("api", [Limit::quota("burst", "1/minute")?])?;
//! let limiter = Limiter::new(MemoryStore::new(), policy.clone());
//! let policy = Arc::new(policy);
//!
//! let ask = || {
//!     let mut asked = Asked::default();
//!     asked.rule(&policy, |key| "alice".into_key(key)).map_err(|reason| reason.to_string())?;
//!     let take = asked.take(&limiter).map_err(|error| error.to_string())?;
//!     let verdict = at_once(take).map_err(|_| "the store waits")?;
//!     let settled = <Answers>::default().settle(&limiter, &asked, verdict, |refused, _marks| {
//!         (refused.status(), refused.to_string())
//!     });
//!     Ok::<_, String>(settled)
//! };
//! assert!(matches!(ask()?, Settled::Pass { .. }));
//! assert!(matches!(ask()?, Settled::Answer((429, text)) if text == "rate limit exceeded"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod ask;
mod asked;
mod forwarded;
mod ip;
mod key;
mod keybuf;
mod marks;
mod problem;
mod refused;
mod store;
mod taken;

pub use answers::{Answers, Settled};
pub use ask::{Ask, Charge, IntoCost, IntoKey, Reason, Terms};
pub use asked::{Asked, Item};
pub use forwarded::Trust;
pub use ip::{AddressKey, Cidr, CidrError};
pub use key::{Extension, ForwardedKey, HeaderKey, PeerIp};
pub use keybuf::KeyBuf;
pub use marks::{Field, FieldText, Fields, Marks};
pub use problem::{Format, Text};
pub use refused::{Degraded, OnStoreError, Refused};
pub use store::at_once;
pub use taken::Taken;
