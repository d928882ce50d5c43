//! The shared states: where new keys are counted while the table is full.
//!
//! Each key maps to several states by independent bits of its hash, as in a count-min sketch
//! (Cormode and Muthukrishnan, 2005). A charge goes to all of them, so each has used at least what
//! any of its keys has; a key is answered from the least used. It is never allowed too much.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::algorithm::Logs;
use crate::amount::Cost;
use crate::policy::{Part, Policy};
use crate::time::Timestamp;

/// How many states share in counting one key.
const STATES_PER_KEY: usize = 3;
/// Bits of the hash that choose one of them.
const BITS_PER_STATE: usize = 16;

/// The bounds of how many states there are for one part; between them one for 16 keys.
const STATES_MIN: usize = 1 << 10;
const STATES_MAX: usize = 1 << BITS_PER_STATE;

/// A part of one policy: the policy's space and the part's slot.
type PartId = (u64, u64);

/// The states, made for each part of a policy when it first overflows.
#[derive(Debug)]
pub(super) struct SharedStates {
    by_part: Mutex<HashMap<PartId, States>>,
    count: usize,
    /// When all of them are back to full, in nanoseconds: until then a new key may owe something.
    full_at: AtomicU64,
}

/// The states of one part, one after the other.
#[derive(Debug)]
struct States {
    words: Box<[u64]>,
    logs: Logs,
}

impl SharedStates {
    pub(super) fn new(max_keys: usize) -> SharedStates {
        let count = (max_keys / 16).clamp(STATES_MIN, STATES_MAX).next_power_of_two();
        SharedStates { by_part: Mutex::default(), count, full_at: AtomicU64::new(0) }
    }

    /// Writes into `states`, which are all zeros, what a new key may have used while the store was
    /// full: for each part, the least used of its states.
    pub(super) fn seed(
        &self,
        policy: &Policy,
        hash: u64,
        states: &mut [u64],
        logs: &mut Logs,
        now: Timestamp,
    ) {
        // Acquire pairs with the release in `charge`: a key charged there is seen here, even though
        // it was charged under the lock of the shared states and this is read without it.
        if self.full_at.load(Ordering::Acquire) <= now.as_nanos() {
            return;
        }
        let by_part = self.by_part.lock();
        for part in policy.parts() {
            let shared = by_part.get(&(policy.space(), part.slot));
            let least =
                shared.and_then(|shared| Some((shared, self.least(shared, hash, part, now)?)));
            let Some((shared, least)) = least else {
                continue;
            };
            let own = &mut states[part.range()];
            if part.rule.is_log() {
                logs.copy(own, &shared.logs, least);
            } else {
                own.copy_from_slice(least);
            }
        }
    }

    /// The least used of a key's states for one part; of those, the first to be full.
    fn least<'a>(
        &self,
        shared: &'a States,
        hash: u64,
        part: &Part,
        now: Timestamp,
    ) -> Option<&'a [u64]> {
        let size = part.rule.words();
        let states = self.places(hash).map(|place| &shared.words[place * size..][..size]);
        states.min_by_key(|state| {
            let remaining = part.rule.remaining(state, &shared.logs, now);
            (Reverse(remaining), part.rule.reset_after(state, &shared.logs, now))
        })
    }

    /// Charges every state of a key.
    pub(super) fn charge(&self, policy: &Policy, hash: u64, cost: Cost, now: Timestamp) {
        let mut by_part = self.by_part.lock();
        for part in policy.parts() {
            let size = part.rule.words();
            let shared = by_part.entry((policy.space(), part.slot)).or_insert_with(|| States {
                words: vec![0; self.count * size].into_boxed_slice(),
                logs: Logs::default(),
            });
            let mut charged = None;
            for place in self.places(hash).filter(|place| charged.replace(*place) != Some(*place)) {
                let state = &mut shared.words[place * size..][..size];
                part.rule.charge_shared(state, &mut shared.logs, now, cost.as_micros());
                let full_at = now + part.rule.reset_after(state, &shared.logs, now);
                self.full_at.fetch_max(full_at.as_nanos(), Ordering::Release);
            }
        }
    }

    /// Stamps those of a key's states anew that the clock stepped back behind.
    pub(super) fn restamp(&self, policy: &Policy, hash: u64, now: Timestamp) {
        if self.full_at.load(Ordering::Acquire) <= now.as_nanos() {
            return;
        }
        let mut by_part = self.by_part.lock();
        for part in policy.parts() {
            let size = part.rule.words();
            let Some(shared) = by_part.get_mut(&(policy.space(), part.slot)) else {
                continue;
            };
            for place in self.places(hash) {
                let state = &mut shared.words[place * size..][..size];
                part.rule.restamp(state, &mut shared.logs, now);
            }
        }
    }

    /// The places of a key's states, in ascending order.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.count - 1;
        let place = |n: usize| {
            let bits = hash >> (n * BITS_PER_STATE) & 0xffff;
            usize::try_from(bits).unwrap_or(0) & mask
        };
        let mut places: [usize; STATES_PER_KEY] = std::array::from_fn(place);
        places.sort_unstable();
        places.into_iter()
    }
}
