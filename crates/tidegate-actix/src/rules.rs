//! What a middleware asks about a request: one key under one policy, or several, all or nothing.

use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use tidegate::Policy;
use tidegate_middleware::{Ask, Asked, IntoCost, Reason};

use crate::key::Extractor;

/// One key under one policy, at one cost.
#[derive(Debug)]
pub struct Rule<K, C = OneUnit> {
    pub(crate) policy: Arc<Policy>,
    /// Shared, so that a rule can be cloned whatever its key is.
    pub(crate) key: Arc<K>,
    /// Beside the key, so that another key does not forget it.
    pub(crate) cost: Arc<C>,
}

impl<K> Rule<K> {
    pub(crate) fn new(policy: Arc<Policy>, key: K) -> Rule<K> {
        Rule { policy, key: Arc::new(key), cost: Arc::new(OneUnit) }
    }
}

impl<K, C> Clone for Rule<K, C> {
    fn clone(&self) -> Rule<K, C> {
        Rule {
            policy: Arc::clone(&self.policy),
            key: Arc::clone(&self.key),
            cost: Arc::clone(&self.cost),
        }
    }
}

/// What a request costs whose key says nothing of it: one unit.
#[derive(Clone, Copy, Debug)]
pub struct OneUnit;

/// What requests cost whose key says nothing of it. Not to be implemented outside of this crate: a
/// function is one.
pub trait Price {
    #[doc(hidden)]
    fn charge(&self, ask: Ask, request: &ServiceRequest) -> Ask;
}

impl Price for OneUnit {
    #[inline]
    fn charge(&self, ask: Ask, _: &ServiceRequest) -> Ask {
        ask
    }
}

impl<F, C> Price for F
where
    F: Fn(&ServiceRequest) -> C,
    C: IntoCost,
{
    #[inline]
    fn charge(&self, ask: Ask, request: &ServiceRequest) -> Ask {
        ask.at(|| self(request))
    }
}

/// Rules and one more: a request passes when all allow it, and is charged by all or none.
#[derive(Debug)]
pub struct And<R, K> {
    pub(crate) others: R,
    pub(crate) rule: Rule<K>,
}

impl<R: Clone, K> Clone for And<R, K> {
    fn clone(&self) -> And<R, K> {
        And { others: self.others.clone(), rule: self.rule.clone() }
    }
}

/// One rule or several. Not to be implemented outside of this crate.
///
/// # Examples
///
/// A function can give a middleware without naming all that is in it:
///
/// ```
/// use tidegate::{Limit, Limiter, MemoryStore, Policy};
/// use tidegate_actix::{RateLimit, Rules};
///
/// fn limits() -> Result<RateLimit<MemoryStore, impl Rules>, Box<dyn std::error::Error>> {
///     let policy = Policy::new("api", [Limit::quota("burst", "100/minute")?])?;
///     let limiter = Limiter::new(MemoryStore::new(), policy);
///     Ok(RateLimit::new(limiter).cost(|request| if request.path() == "/export" { 10_u32 } else { 1 }))
/// }
/// # limits()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Rules: Clone {
    #[doc(hidden)]
    fn ask<'a>(&'a self, request: &ServiceRequest, asked: &mut Asked<'a>) -> Result<(), Reason>;
}

impl<K: Extractor, C: Price> Rules for Rule<K, C> {
    fn ask<'a>(&'a self, request: &ServiceRequest, asked: &mut Asked<'a>) -> Result<(), Reason> {
        asked.rule(&self.policy, |key| self.cost.charge(self.key.extract(request, key), request))
    }
}

impl<R: Rules, K: Extractor> Rules for And<R, K> {
    fn ask<'a>(&'a self, request: &ServiceRequest, asked: &mut Asked<'a>) -> Result<(), Reason> {
        self.others.ask(request, asked)?;
        self.rule.ask(request, asked)
    }
}
