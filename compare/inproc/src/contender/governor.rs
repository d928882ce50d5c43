use std::num::NonZeroU32;
use std::time::Duration;

use ::governor::{DefaultKeyedRateLimiter, Quota as GovernorQuota, RateLimiter};

use super::{Contender, Quota};

/// governor, keyed: a `DashMap` of strings, on its default clock.
pub struct Governor(DefaultKeyedRateLimiter<String>);

impl Governor {
    pub fn new(quota: Quota) -> Governor {
        let burst = NonZeroU32::new(quota.burst).expect("a burst above zero");
        let period = Duration::from_secs(u64::from(quota.period));
        let quota = GovernorQuota::with_period(period).expect("a period above zero");
        Governor(RateLimiter::keyed(quota.allow_burst(burst)))
    }

    /// Drops the keys that are back to full, and gives memory back.
    pub fn sweep(&self) {
        self.0.retain_recent();
        self.0.shrink_to_fit();
    }
}

impl Contender for Governor {
    fn check(&self, key: &String) -> bool {
        std::hint::black_box(self.0.check_key(key)).is_ok()
    }
}
