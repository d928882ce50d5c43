//! Counters found by the names of their policy and limit, without a lock.

use std::sync::{Arc, OnceLock};

use tidegate::Name;

use crate::decisions::LimitCounters;

/// How many pairs of a policy and a limit are told apart at least.
const PAIRS: usize = 200;

/// Twice as many slots as pairs, so that a search ends soon.
const SLOTS: usize = 2 * PAIRS;

/// What was counted once has its counters here for good: slots are only ever filled, so that looking is
/// reading.
#[derive(Debug)]
pub(crate) struct Index(Box<[OnceLock<Entry>]>);

#[derive(Debug)]
struct Entry {
    policy: Name,
    limit: Option<Name>,
    counters: Arc<LimitCounters>,
}

impl Entry {
    fn is(&self, policy: &Name, limit: Option<&Name>) -> bool {
        self.policy == *policy && self.limit.as_ref() == limit
    }
}

impl Default for Index {
    fn default() -> Index {
        Index((0..SLOTS).map(|_| OnceLock::new()).collect())
    }
}

impl Index {
    /// The counters of this pair, made when they are first asked for; none when there are
    /// too many pairs already.
    pub(crate) fn find(
        &self,
        policy: &Name,
        limit: Option<&Name>,
        make: impl Fn() -> Arc<LimitCounters>,
    ) -> Option<&LimitCounters> {
        let start = hash(policy, limit);
        // As far as half of the slots: as many pairs are found wherever they begin.
        for slot in (0..PAIRS).map(|step| &self.0[(start + step) % SLOTS]) {
            let entry = slot.get_or_init(|| Entry {
                policy: policy.clone(),
                limit: limit.cloned(),
                counters: make(),
            });
            // Another pair may have been first.
            if entry.is(policy, limit) {
                return Some(&entry.counters);
            }
        }
        None
    }
}

/// FNV-1a: quick for short names, which come from a configuration and not from outside.
fn hash(policy: &Name, limit: Option<&Name>) -> usize {
    let limit = limit.map_or(&[][..], |limit| limit.as_str().as_bytes());
    let bytes = policy.as_str().bytes().chain([0]).chain(limit.iter().copied());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    usize::try_from(hash % SLOTS as u64).unwrap_or(0)
}
