//! The store: calls with a deadline, over one connection.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::ConnectionManager;
use redis::{RedisResult, Value};
use tidegate::{Check, Clock, Span, Store, StoreError, StoreErrorKind, Timestamp, Verdict};
use tokio::time::timeout;

use crate::config::RedisConfig;
use crate::error::store_error;
use crate::link::{Link, Supervised};
use crate::reply::{Shape, verdict};
use crate::request::{Together, Writer};
use crate::script::{self, Call, Script, Scripts};

/// What the store's operations return.
type Answer<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The store in Redis or Valkey: one script call a request, by the server's clock.
///
/// Making one connects nowhere and cannot fail; the first call connects. All calls share one
/// connection, none waits for another's answer, and each has its deadline, connecting included. A
/// lost connection is opened again with growing, random waits of at most half a second; meanwhile
/// calls fail at once. Clones share the connection; dropping the last ends it and its task.
///
/// Its futures are to be polled inside a Tokio runtime with IO and time; they panic outside of one. The
/// connection lives in the runtime of the first call, and moves on when that ends.
///
/// # Examples
///
/// ```no_run
/// use tidegate_redis::{Address, RedisConfig, RedisStore, Secret};
///
/// let store = RedisStore::new(RedisConfig {
///     address: Address::Unix("/run/redis/redis.sock".into()),
///     password: Some(Secret::new("swordfish")),
///     ..RedisConfig::default()
/// });
/// ```
#[derive(Clone)]
pub struct RedisStore {
    inner: Arc<Inner>,
}

struct Inner {
    link: Link,
    address: String,
    prefix: String,
    timeout: Duration,
    scripts: Scripts,
    clock: Option<Box<dyn Clock>>,
}

impl RedisStore {
    /// A store on the server of this configuration.
    #[must_use]
    pub fn new(config: RedisConfig) -> RedisStore {
        RedisStore::on_server(config, None)
    }

    /// A store over a connection that the application has and keeps up.
    ///
    /// `prefix` begins every key; `timeout` is the longest that one call may take.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use tidegate::{Cost, Key, Limit, Limiter, Policy, Span};
    /// use tidegate_redis::{ConnectionManager, RedisStore};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = redis::Client::open("redis://127.0.0.1/")?;
    /// let manager = ConnectionManager::new(client).await?;
    /// let store = RedisStore::with_connection(manager.clone(), "tidegate", Span::from_millis(50));
    ///
    /// // Any number of limiters share it; the names of their policies keep them apart.
    /// let api = Policy::new("api", [Limit::quota("burst", "10 per second")?])?;
    /// let login = Policy::new("login", [Limit::quota("slow", "5/minute")?])?;
    /// let (api, login) = (Limiter::new(store.clone(), api), Limiter::new(store, login));
    /// let alice = Key::new("alice")?;
    /// assert!(api.check_async(alice, Cost::ONE).await?.is_allowed());
    /// assert!(login.check_async(alice, Cost::ONE).await?.is_allowed());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_connection(
        manager: ConnectionManager,
        prefix: impl Into<String>,
        timeout: Span,
    ) -> RedisStore {
        let config = RedisConfig { prefix: prefix.into(), timeout, ..RedisConfig::default() };
        // Where the application's connection leads is not known here.
        RedisStore::over(Link::Given(manager), "redis".into(), config, None)
    }

    /// A store for tests, which takes the time from `clock`, in whole microseconds, and not from the
    /// server.
    ///
    /// The server's expiry of keys does not follow that clock, so keys live a minute longer than
    /// they would.
    #[must_use]
    pub fn with_test_clock(config: RedisConfig, clock: impl Clock) -> RedisStore {
        RedisStore::on_server(config, Some(Box::new(clock)))
    }

    /// A store over a connection of its own.
    fn on_server(config: RedisConfig, clock: Option<Box<dyn Clock>>) -> RedisStore {
        let link = Link::Own(Supervised::new(&config));
        RedisStore::over(link, config.address.to_string(), config, clock)
    }

    fn over(
        link: Link,
        address: String,
        config: RedisConfig,
        clock: Option<Box<dyn Clock>>,
    ) -> RedisStore {
        let inner = Inner {
            link,
            address,
            prefix: config.prefix,
            timeout: config.timeout.into(),
            scripts: Scripts::new(),
            clock,
        };
        RedisStore { inner: Arc::new(inner) }
    }

    /// Sees whether the server answers, within the deadline of any call.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when it does not.
    pub fn ping(&self) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let inner = Arc::clone(&self.inner);
        async move {
            let ping = redis::cmd("PING");
            inner.in_time(inner.link.query(&ping)).await.map(|_| ())
        }
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            prefix: &self.inner.prefix,
            now: self.inner.clock.as_ref().map(|clock| clock.now()),
        }
    }

    fn decide(&self, checks: &[Check<'_>], together: Together) -> Answer<Verdict> {
        let inner = Arc::clone(&self.inner);
        let call = self.writer().take(checks, together);
        let shapes = Shape::of(checks);
        Box::pin(async move {
            let reply = inner.run(&inner.scripts.take, &call).await?;
            verdict(&reply, &shapes).ok_or_else(|| inner.nonsense())
        })
    }

    fn perform(&self, script: fn(&Scripts) -> &Script, call: Call) -> Answer<()> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            match inner.run(script(&inner.scripts), &call).await? {
                Value::Okay => Ok(()),
                _ => Err(inner.nonsense()),
            }
        })
    }
}

impl Inner {
    async fn run(&self, script: &Script, call: &Call) -> Result<Value, StoreError> {
        self.in_time(script::run(&self.link, script, call)).await
    }

    /// Waits for an answer until the deadline.
    async fn in_time(
        &self,
        answer: impl Future<Output = RedisResult<Value>>,
    ) -> Result<Value, StoreError> {
        match timeout(self.timeout, answer).await {
            Ok(answer) => answer.map_err(|error| store_error(&self.address, &error)),
            Err(_) => {
                self.link.doubt();
                let (address, timeout) = (&self.address, Span::from(self.timeout));
                let message = format!("{address}: no answer within {timeout}");
                Err(StoreError::new(StoreErrorKind::Timeout, message))
            }
        }
    }

    fn nonsense(&self) -> StoreError {
        let message = format!("{}: the reply is not what our script returns", self.address);
        StoreError::new(StoreErrorKind::Protocol, message)
    }
}

impl Store for RedisStore {
    type Take = Answer<Verdict>;
    type Done = Answer<()>;

    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        self.decide(checks, Together::All)
    }

    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        self.decide(checks, Together::Each)
    }

    fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Self::Done {
        let call = self.writer().refund(checks, taken_at);
        self.perform(|scripts| &scripts.refund, call)
    }

    fn reset(&self, checks: &[Check<'_>]) -> Self::Done {
        let call = self.writer().reset(checks);
        self.perform(|scripts| &scripts.reset, call)
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("address", &self.inner.address)
            .field("prefix", &self.inner.prefix)
            .field("timeout", &self.inner.timeout)
            .finish_non_exhaustive()
    }
}
