//! What a middleware asks about a request: one key under one policy, or several, all or nothing.

use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use tidegate::Policy;
use tidegate_middleware::{Asked, Reason};

use crate::key::Extractor;

/// One key under one policy.
#[derive(Debug)]
pub struct Rule<K> {
    pub(crate) policy: Arc<Policy>,
    /// Shared, so that a rule can be cloned whatever its key is.
    pub(crate) key: Arc<K>,
}

impl<K> Clone for Rule<K> {
    fn clone(&self) -> Rule<K> {
        Rule { policy: Arc::clone(&self.policy), key: Arc::clone(&self.key) }
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
pub trait Rules: Clone {
    #[doc(hidden)]
    fn ask<'a>(&'a self, request: &ServiceRequest, asked: &mut Asked<'a>) -> Result<(), Reason>;
}

impl<K: Extractor> Rules for Rule<K> {
    fn ask<'a>(&'a self, request: &ServiceRequest, asked: &mut Asked<'a>) -> Result<(), Reason> {
        asked.rule(&self.policy, |key| self.key.extract(request, key))
    }
}

impl<R: Rules, K: Extractor> Rules for And<R, K> {
    fn ask<'a>(&'a self, request: &ServiceRequest, asked: &mut Asked<'a>) -> Result<(), Reason> {
        self.others.ask(request, asked)?;
        self.rule.ask(request, asked)
    }
}
