//! The store that the service was given.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tidegate::{Check, MemoryStore, Store, StoreError, Verdict};
use tidegate_redis::RedisStore;

use crate::settings::StoreSettings;

/// How the checks of one request hang together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Joint {
    /// All or nothing.
    #[default]
    All,
    /// Each on its own, in order.
    Each,
}

/// The chosen store: a closed set, so that the way to it is known when compiling.
#[non_exhaustive]
pub enum Backend {
    /// In this process.
    Memory(MemoryStore),
    /// On a Redis or Valkey server.
    Redis(RedisStore),
    /// A store that is none of ours, behind a pointer.
    Other(Arc<dyn AnyStore>),
}

impl Backend {
    /// The store of these settings. One on a server is not connected to yet.
    #[must_use]
    pub fn of(settings: &StoreSettings) -> Backend {
        match settings {
            StoreSettings::Memory(config) => Backend::Memory(MemoryStore::with_config(*config)),
            StoreSettings::Redis(config) => Backend::Redis(RedisStore::new(config.clone())),
        }
    }

    /// A backend of any store.
    #[must_use]
    pub fn other(store: impl Store + 'static) -> Backend {
        Backend::Other(Arc::new(store))
    }

    /// Decides the checks.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store could not answer.
    pub async fn take(&self, checks: &[Check<'_>], joint: Joint) -> Result<Verdict, StoreError> {
        match (self, joint) {
            (Backend::Memory(store), Joint::All) => Ok(store.take(checks)),
            (Backend::Memory(store), Joint::Each) => Ok(store.take_each(checks)),
            (Backend::Redis(store), Joint::All) => store.take(checks).await,
            (Backend::Redis(store), Joint::Each) => store.take_each(checks).await,
            (Backend::Other(store), joint) => store.take_boxed(checks, joint).await,
        }
    }

    /// Whether the store can be away: whether it is worth asking.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        !matches!(self, Backend::Memory(_))
    }

    /// How many keys are held in this process.
    #[must_use]
    pub fn keys(&self) -> usize {
        match self {
            Backend::Memory(store) => store.len(),
            Backend::Redis(_) | Backend::Other(_) => 0,
        }
    }

    /// How many decisions were made for keys that found no room.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        match self {
            Backend::Memory(store) => store.overflowed(),
            Backend::Redis(_) | Backend::Other(_) => 0,
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Memory(_) => "Memory",
            Backend::Redis(_) => "Redis",
            Backend::Other(_) => "Other",
        })
    }
}

/// A verdict to come, behind a pointer.
pub type BoxedTake = Pin<Box<dyn Future<Output = Result<Verdict, StoreError>> + Send>>;

/// A [`Store`] behind a pointer. Every store is one.
pub trait AnyStore: Send + Sync {
    /// Decides the checks.
    fn take_boxed(&self, checks: &[Check<'_>], joint: Joint) -> BoxedTake;
}

impl<S: Store> AnyStore for S {
    fn take_boxed(&self, checks: &[Check<'_>], joint: Joint) -> BoxedTake {
        match joint {
            Joint::All => Box::pin(self.take(checks)),
            Joint::Each => Box::pin(self.take_each(checks)),
        }
    }
}
