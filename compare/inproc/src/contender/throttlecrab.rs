use std::sync::Mutex;
use std::time::SystemTime;

use ::throttlecrab::{PeriodicStore, RateLimiter};

use super::{Contender, Quota};

/// throttlecrab: its periodic store, behind a mutex as it asks `&mut self`.
pub struct Throttlecrab {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    quota: Quota,
}

impl Throttlecrab {
    pub fn new(quota: Quota) -> Throttlecrab {
        let limiter = Mutex::new(RateLimiter::new(PeriodicStore::new()));
        Throttlecrab { limiter, quota }
    }
}

impl Contender for Throttlecrab {
    fn check(&self, key: &String) -> bool {
        let (burst, period) = (i64::from(self.quota.burst), i64::from(self.quota.period));
        let mut limiter = self.limiter.lock().expect("no check panics");
        let decision = limiter.rate_limit(key, burst, 1, period, 1, SystemTime::now());
        matches!(std::hint::black_box(decision), Ok((true, _)))
    }
}
