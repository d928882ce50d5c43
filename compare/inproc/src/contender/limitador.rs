use std::collections::HashMap;

use ::limitador::RateLimiter;
use ::limitador::limit::{Context, Limit, Namespace};

use super::{Contender, Quota};

/// limitador with its store in memory: one limit with the key as its variable.
pub struct Limitador {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Limitador {
    /// `keys`: how many counters it may keep.
    pub fn new(quota: Quota, keys: usize) -> Limitador {
        let limiter = RateLimiter::new(keys as u64);
        let key = "key".try_into().expect("a variable's name");
        let (max, window) = (u64::from(quota.burst), u64::from(quota.period));
        limiter.add_limit(Limit::new("bench", max, window, vec![], vec![key]));
        let namespace = "bench".into();
        Limitador { limiter, namespace }
    }
}

impl Contender for Limitador {
    fn check(&self, key: &String) -> bool {
        let context = Context::from(HashMap::from([("key".to_owned(), key.clone())]));
        let result = self
            .limiter
            .check_rate_limited_and_update(&self.namespace, &context, 1);
        matches!(std::hint::black_box(result), Ok(result) if !result.limited)
    }
}
