//! What makes a client one that waits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate::{Limiter, Pacer, Store, Timer, TokioTimer};
use tower_layer::Layer;

use super::advice::{NoAdvice, RetryAfter};
use super::{OneKey, Pace, Paced};

/// Has a client wait until the limit allows, before each call: for keeping to the limits of the
/// services that it calls.
///
/// It goes around any [`tower_service::Service`]: a hyper or tonic client, a `reqwest::Client`. Calls
/// wait in the order in which they were made, key by key; see [`Pacer`]. One layer is one count,
/// however many services it makes.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Limit, Limiter, MemoryStore, Policy};
/// use tidegate_tower::PaceLayer;
/// use tower::{ServiceBuilder, service_fn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// // The partner allows 100 calls a minute, and 5 at once.
/// let policy = Policy::new("partner", [Limit::quota("calls", "100/minute burst 5")?])?;
/// let pace = PaceLayer::new(Limiter::new(MemoryStore::new(), policy))
///     .key(|request: &http::Request<String>| request.uri().host().map(str::to_owned))
///     .patience(Duration::from_secs(10))
///     .obey_retry_after();
///
/// let client = ServiceBuilder::new().layer(pace).service(service_fn(send));
/// # let _ = client;
/// # Ok(())
/// # }
///
/// async fn send(_: http::Request<String>) -> Result<http::Response<String>, std::io::Error> {
///     Ok(http::Response::new(String::new()))
/// }
/// ```
pub struct PaceLayer<S, T = TokioTimer, K = OneKey, A = NoAdvice> {
    pace: Arc<Pace<S, T, K, A>>,
}

impl<S: Store + 'static> PaceLayer<S> {
    /// A layer that waits on Tokio until this limiter allows. Until a key is given all calls count
    /// for one.
    #[must_use]
    pub fn new(limiter: Limiter<S>) -> PaceLayer<S> {
        PaceLayer::over(limiter.pacer(TokioTimer::new()))
    }
}

impl<S, T: Timer> PaceLayer<S, T> {
    /// A layer over this pacer: for another timer, for jitter, or for sharing the count with what is
    /// no service.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, MemoryStore, Policy, Span, TokioTimer};
    /// use tidegate_tower::PaceLayer;
    ///
    /// let policy = Policy::new("partner", [Limit::quota("calls", "100/minute")?])?;
    /// let pacer = Limiter::new(MemoryStore::new(), policy).pacer(TokioTimer::new());
    /// let layer = PaceLayer::over(pacer.with_jitter(Span::from_millis(20)));
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn over(pacer: Pacer<S, T>) -> PaceLayer<S, T> {
        let pace = Pace { pacer, key: OneKey, advice: NoAdvice, patience: None };
        PaceLayer { pace: Arc::new(pace) }
    }
}

impl<S, T, K: Clone, A: Clone> PaceLayer<S, T, K, A> {
    /// Counts each call for the key that this finds in its request.
    ///
    /// It is a function that gives whatever [`IntoKey`](crate::IntoKey) takes; a
    /// [`Charge`](crate::Charge) has a cost too, or lets the call pass uncounted. A call without a key is not
    /// made.
    #[must_use]
    pub fn key<L>(self, key: L) -> PaceLayer<S, T, L, A> {
        let Pace { pacer, advice, patience, .. } = &*self.pace;
        let (pacer, advice, patience) = (pacer.clone(), advice.clone(), *patience);
        PaceLayer { pace: Arc::new(Pace { pacer, key, advice, patience }) }
    }

    /// Lets no call wait longer than this; a call that would have to fails at once with
    /// [`PaceError::TooLong`](tidegate::PaceError::TooLong) and takes nothing.
    #[must_use]
    pub fn patience(self, patience: Duration) -> PaceLayer<S, T, K, A> {
        let Pace { pacer, key, advice, .. } = &*self.pace;
        let (pacer, key, advice) = (pacer.clone(), key.clone(), advice.clone());
        PaceLayer { pace: Arc::new(Pace { pacer, key, advice, patience: Some(patience.into()) }) }
    }

    /// When an answer says 429 or 503 with `Retry-After` (or the same in gRPC), makes no call for its
    /// key before that time. The answer itself is handed on: whether to try again is not for this
    /// layer. See [`RetryAfter`].
    #[must_use]
    pub fn obey_retry_after(self) -> PaceLayer<S, T, K, RetryAfter> {
        self.obey(RetryAfter::default())
    }

    /// Makes no call for a key for as long as this finds that its last answer asks for: a function
    /// of the response, for other forms than those of [`RetryAfter`].
    #[must_use]
    pub fn obey<B>(self, advice: B) -> PaceLayer<S, T, K, B> {
        let Pace { pacer, key, patience, .. } = &*self.pace;
        let (pacer, key, patience) = (pacer.clone(), key.clone(), *patience);
        PaceLayer { pace: Arc::new(Pace { pacer, key, advice, patience }) }
    }
}

impl<I, S, T, K, A> Layer<I> for PaceLayer<S, T, K, A> {
    type Service = Paced<I, S, T, K, A>;

    fn layer(&self, inner: I) -> Self::Service {
        Paced { inner, pace: Arc::clone(&self.pace) }
    }
}

impl<S, T, K, A> Clone for PaceLayer<S, T, K, A> {
    fn clone(&self) -> Self {
        PaceLayer { pace: Arc::clone(&self.pace) }
    }
}

impl<S, T, K, A> fmt::Debug for PaceLayer<S, T, K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaceLayer").field("pacer", &self.pace.pacer).finish_non_exhaustive()
    }
}
