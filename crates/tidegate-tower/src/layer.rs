//! The layer: what is limited, how, and what is answered.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use tidegate::{Cost, HeaderDialect, Limiter, Policy, Store};
use tidegate_middleware::{Answers, Format, IntoCost, IntoKey, OnStoreError, PeerIp, Refused};
use tower_layer::Layer;

use crate::core::{Core, Respond};
use crate::head::RequestHead;
use crate::hook::{Hooks, NoHooks, ResponseHead, Served};
use crate::key::Extractor;
use crate::prelude::{Awaited, NoPrelude, Resolved};
use crate::rules::{And, Rule};
use crate::service::RateLimit;

/// Limits how often a service is called.
///
/// Requests count for the address of their peer ([`PeerIp`]), one unit each, unless told
/// otherwise. Cloning is cheap, and so is cloning the services that it makes: they share one
/// limiter.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy};
/// use tidegate_tower::{PeerIp, RateLimitLayer};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "100/minute")?])?;
/// let layer = RateLimitLayer::new(Limiter::new(MemoryStore::new(), policy))
///     .key(PeerIp::default())
///     .cost(|request| if request.uri().path() == "/export" { 10_u32 } else { 1 });
/// # let _ = layer;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RateLimitLayer<S, R = Rule<PeerIp>, P = NoPrelude, H = NoHooks> {
    core: Arc<Core<S, R, P, H>>,
}

impl<S, R, P, H> Clone for RateLimitLayer<S, R, P, H> {
    fn clone(&self) -> Self {
        RateLimitLayer { core: Arc::clone(&self.core) }
    }
}

impl<S: Store> RateLimitLayer<S> {
    /// Limits requests by this limiter, which may be shared: with other layers, or to reset a key.
    #[must_use]
    pub fn new(limiter: impl Into<Arc<Limiter<S>>>) -> RateLimitLayer<S> {
        let limiter = limiter.into();
        let policy = Arc::new(limiter.policy().clone());
        RateLimitLayer {
            core: Arc::new(Core {
                limiter,
                rules: Rule::new(policy, PeerIp::default()),
                prelude: Arc::new(NoPrelude),
                hooks: NoHooks,
                answers: Answers::default(),
            }),
        }
    }
}

impl<S, K, C, P, H: Clone> RateLimitLayer<S, Rule<K, C>, P, H> {
    /// Counts requests for the key that `key` finds.
    #[must_use]
    pub fn key<N: Extractor>(self, key: N) -> RateLimitLayer<S, Rule<N, C>, P, H> {
        self.with_rules(|rule| Rule { policy: rule.policy, key: Arc::new(key), cost: rule.cost })
    }

    /// Counts requests for the key that a function gives; none, or an error, means that there is no
    /// key in the request, which is then refused with 400.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, MemoryStore, Policy};
    /// # use tidegate_tower::RateLimitLayer;
    /// # let policy = Policy::new("api", [Limit::quota("burst", "100/minute")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// // By the first part of the path: `/acme/orders` counts for `acme`.
    /// let by_tenant = RateLimitLayer::new(limiter).key_by(|request| {
    ///     request.uri().path().split('/').nth(1).map(str::to_owned)
    /// });
    /// # let _ = by_tenant;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn key_by<F, N>(self, key: F) -> RateLimitLayer<S, Rule<F, C>, P, H>
    where
        F: Fn(&RequestHead<'_>) -> N,
        N: IntoKey,
    {
        self.key(key)
    }

    /// Counts requests for the key that a function's future gives. The future cannot borrow from the
    /// request; the function can copy what it needs.
    ///
    /// For a fallback, set [`Resolved`] with one as the key afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, MemoryStore, Policy};
    /// # use tidegate_tower::{Extractor, PeerIp, RateLimitLayer, Resolved};
    /// # async fn look_up(token: http::HeaderValue) -> Option<u64> { None }
    /// # let policy = Policy::new("api", [Limit::quota("burst", "100/minute")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// let by_user = RateLimitLayer::new(limiter)
    ///     .key_async(|request| {
    ///         let token = request.headers().get("authorization").cloned();
    ///         async move { look_up(token?).await }
    ///     })
    ///     .key(Resolved.or(PeerIp::default()));
    /// # let _ = by_user;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn key_async<F, T>(self, key: F) -> RateLimitLayer<S, Rule<Resolved, C>, Awaited<F>, H>
    where
        F: Fn(&RequestHead<'_>) -> T,
        T: Future<Output: IntoKey>,
    {
        let core = &self.core;
        let Rule { policy, cost, .. } = core.rules.clone();
        let rules = Rule { policy, key: Arc::new(Resolved), cost };
        RateLimitLayer {
            core: Arc::new(Core {
                limiter: Arc::clone(&core.limiter),
                rules,
                prelude: Arc::new(Awaited(key)),
                hooks: core.hooks.clone(),
                answers: core.answers.clone(),
            }),
        }
    }

    /// Counts requests at the cost that a function finds, unless the key comes with another; 1
    /// without. A cost that cannot be found refuses the request with 400. It stays when the key is set
    /// afterwards.
    #[must_use]
    pub fn cost<F, N>(self, cost: F) -> RateLimitLayer<S, Rule<K, F>, P, H>
    where
        F: Fn(&RequestHead<'_>) -> N,
        N: IntoCost,
    {
        self.with_rules(|rule| Rule { policy: rule.policy, key: rule.key, cost: Arc::new(cost) })
    }

    /// Limits by this policy, over the limiter's store, in place of the limiter's policy.
    #[must_use]
    pub fn policy(self, policy: impl Into<Arc<Policy>>) -> RateLimitLayer<S, Rule<K, C>, P, H> {
        self.with_rules(|rule| Rule { policy: policy.into(), ..rule })
    }
}

impl<S, R: Clone, P, H: Clone> RateLimitLayer<S, R, P, H> {
    /// Limits by one more policy for one more key. A request passes when all limits of all policies
    /// allow it, and a request that is denied by any is charged by none.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, MemoryStore, Policy};
    /// # use tidegate_tower::{PeerIp, RateLimitLayer};
    /// let by_peer = Policy::new("peer", [Limit::quota("peer", "100/minute")?])?;
    /// let by_user = Policy::new("user", [Limit::quota("user", "1000/hour")?])?;
    /// let layer = RateLimitLayer::new(Limiter::new(MemoryStore::new(), by_peer))
    ///     .key(PeerIp::default())
    ///     .and(by_user, "everyone");
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn and<K: Extractor>(
        self,
        policy: impl Into<Arc<Policy>>,
        key: K,
    ) -> RateLimitLayer<S, And<R, K>, P, H> {
        let rule = Rule::new(policy.into(), key);
        self.with_rules(|others| And { others, rule })
    }

    /// What the answers' headers say of limits; the IETF's draft 11 by default.
    #[must_use]
    pub fn headers(self, dialect: HeaderDialect) -> Self {
        self.with_answers(|answers| answers.dialect = dialect)
    }

    /// What happens to requests when the store cannot answer; 503 by default.
    #[must_use]
    pub fn on_store_error(self, stance: OnStoreError) -> Self {
        self.with_answers(|answers| answers.on_store_error = stance)
    }

    /// Answers in `application/problem+json` (RFC 9457) in place of plain text.
    #[must_use]
    pub fn problem_json(self) -> Self {
        self.with_answers(|answers| answers.format = Format::Problem)
    }

    /// Answers with responses of one's own. `Retry-After` and the headers about limits are added to
    /// them where they are absent. gRPC calls are answered in gRPC nevertheless.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, MemoryStore, Policy};
    /// # use tidegate_tower::{RateLimitLayer, Refused};
    /// # let policy = Policy::new("api", [Limit::quota("burst", "100/minute")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// let layer = RateLimitLayer::new(limiter).respond(|refused| {
    ///     let mut response = http::Response::new(format!("sorry: {refused}"));
    ///     *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
    ///     response
    /// });
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn respond<F, B>(self, respond: F) -> Self
    where
        F: Fn(&Refused<'_>) -> Response<B> + Send + Sync + 'static,
        B: Into<Bytes>,
    {
        self.with_answers(|answers| {
            answers.respond = Some(Arc::new(move |refused| respond(refused).map(Into::into)));
        })
    }

    /// Gives a request back what it took when a function says so of the service's answer: to count
    /// only failed logins, say.
    ///
    /// It is asked once the head of the answer is there, of answers of the service alone. What took
    /// part in a limit's decision meanwhile stays decided. A client that leaves while a store elsewhere
    /// still decides is not asked about: what it took there, if anything, stays taken.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, MemoryStore, Policy};
    /// # use tidegate_tower::RateLimitLayer;
    /// # let policy = Policy::new("login", [Limit::quota("failures", "5/hour")?])?;
    /// # let limiter = Limiter::new(MemoryStore::new(), policy);
    /// let failures = RateLimitLayer::new(limiter)
    ///     .refund_if(|response| response.status() != http::StatusCode::UNAUTHORIZED);
    /// # let _ = failures;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn refund_if<F>(self, refund_if: F) -> RateLimitLayer<S, R, P, Hooks>
    where
        F: Fn(&ResponseHead<'_>) -> bool + Send + Sync + 'static,
        H: Into<Hooks>,
    {
        self.with_hooks(|hooks| hooks.refund_if = Some(Arc::new(refund_if)))
    }

    /// Sets the cost of a request right once it has been served: what it cost beyond the cost it was
    /// let through for is charged, below zero if need be, and what it cost less is given back.
    ///
    /// That happens when the body of the answer has gone out, also when the client goes away before
    /// its end. It concerns the layer's own key, not those added with [`and`](RateLimitLayer::and). A
    /// store elsewhere is told by a task of the Tokio runtime.
    ///
    /// A client that leaves while a store elsewhere still decides is not asked about: what it took
    /// there, if anything, stays taken.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, MemoryStore, Policy};
    /// # use tidegate_tower::RateLimitLayer;
    /// use tidegate::Amount;
    ///
    /// let policy = Policy::new("kilobytes", [Limit::quota("sent", "1000/s burst 10000")?])?;
    /// let limiter = Limiter::new(MemoryStore::new(), policy);
    /// let bandwidth = RateLimitLayer::new(limiter)
    ///     .true_cost(|served| Amount::from_micros(served.bytes() * 1_000));
    /// # let _ = bandwidth;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn true_cost<F>(self, true_cost: F) -> RateLimitLayer<S, R, P, Hooks>
    where
        F: Fn(&Served) -> Cost + Send + Sync + 'static,
        H: Into<Hooks>,
    {
        self.with_hooks(|hooks| hooks.true_cost = Some(Arc::new(true_cost)))
    }

    fn with_hooks(self, change: impl FnOnce(&mut Hooks)) -> RateLimitLayer<S, R, P, Hooks>
    where
        H: Into<Hooks>,
    {
        let core = &self.core;
        let mut hooks = core.hooks.clone().into();
        change(&mut hooks);
        RateLimitLayer {
            core: Arc::new(Core {
                limiter: Arc::clone(&core.limiter),
                rules: core.rules.clone(),
                prelude: Arc::clone(&core.prelude),
                hooks,
                answers: core.answers.clone(),
            }),
        }
    }

    fn with_answers(self, change: impl FnOnce(&mut Answers<Respond>)) -> Self {
        let mut answers = self.core.answers.clone();
        change(&mut answers);
        self.rebuilt(|rules| rules, answers)
    }

    fn with_rules<N>(self, change: impl FnOnce(R) -> N) -> RateLimitLayer<S, N, P, H> {
        let answers = self.core.answers.clone();
        self.rebuilt(change, answers)
    }

    /// The same with other rules and answers. Clones of this layer stay as they are.
    fn rebuilt<N>(
        self,
        rules: impl FnOnce(R) -> N,
        answers: Answers<Respond>,
    ) -> RateLimitLayer<S, N, P, H> {
        let core = &self.core;
        RateLimitLayer {
            core: Arc::new(Core {
                limiter: Arc::clone(&core.limiter),
                rules: rules(core.rules.clone()),
                prelude: Arc::clone(&core.prelude),
                hooks: core.hooks.clone(),
                answers,
            }),
        }
    }
}

impl<S, R, P, H, T> Layer<T> for RateLimitLayer<S, R, P, H> {
    type Service = RateLimit<T, S, R, P, H>;

    fn layer(&self, inner: T) -> Self::Service {
        RateLimit::new(inner, Arc::clone(&self.core))
    }
}
