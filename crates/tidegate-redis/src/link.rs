//! The way to the server: a connection of our own that is kept up, or one the application brought.

mod backoff;
mod open;
mod supervisor;

use redis::aio::ConnectionManager;
use redis::{Cmd, RedisResult, Value};

pub(crate) use supervisor::Supervised;

/// A connection to one server, shared by all calls: they go out as they come and none waits for
/// another's answer.
pub(crate) enum Link {
    /// Kept up by us.
    Own(Supervised),
    /// Kept up by the application that brought it.
    Given(ConnectionManager),
}

impl Link {
    /// Sends a command, once, as soon as there is a connection, and waits for its answer.
    pub(crate) async fn query(&self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Link::Own(supervised) => command.query_async(&mut supervised.connection().await?).await,
            Link::Given(manager) => command.query_async(&mut manager.clone()).await,
        }
    }

    /// Says that a call had no answer in time: the connection may be dead without a sign of it.
    pub(crate) fn doubt(&self) {
        if let Link::Own(supervised) = self {
            supervised.doubt();
        }
    }
}
