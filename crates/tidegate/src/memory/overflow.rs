//! The shared states: where new keys are counted while the table is full.
//!
//! Each key maps to several states by independent bits of its hash, as in a count-min sketch
//! (Cormode and Muthukrishnan, 2005). A charge goes to all of them, so each has used at least what
//! any of its keys has; a key is answered from the least used. It is never allowed too much.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::entry::Slots;
use crate::algorithm::State;
use crate::amount::Cost;
use crate::policy::{Part, Policy};
use crate::time::Timestamp;

/// How many states share in counting one key.
const STATES_PER_KEY: u32 = 3;
/// Bits of the hash that choose one of them.
const BITS_PER_STATE: u32 = 16;

/// The bounds of how many states there are for one part; between them one for 16 keys.
const STATES_MIN: usize = 1 << 10;
const STATES_MAX: usize = 1 << BITS_PER_STATE;

/// A part of one policy: the policy's space and the part's slot.
type PartId = (u64, u64);

/// The states, made for each part of a policy when it first overflows.
#[derive(Debug)]
pub(super) struct SharedStates {
    by_part: Mutex<HashMap<PartId, Box<[State]>>>,
    count: usize,
    /// When all of them are back to full, in nanoseconds: until then a new key may owe something.
    full_at: AtomicU64,
}

impl SharedStates {
    pub(super) fn new(max_keys: usize) -> SharedStates {
        let count = (max_keys / 16)
            .clamp(STATES_MIN, STATES_MAX)
            .next_power_of_two();
        SharedStates {
            by_part: Mutex::default(),
            count,
            full_at: AtomicU64::new(0),
        }
    }

    /// What a new key may have used while the store was full: for each part, the least used of its
    /// states.
    pub(super) fn least_used(&self, hash: u64, policy: &Policy, now: Timestamp) -> Slots {
        // Acquire pairs with the release in `charge`: a key charged there is seen here, even though
        // it was charged under the lock of the shared states and this is read without it.
        if self.full_at.load(Ordering::Acquire) <= now.as_nanos() {
            return Slots::fresh(policy.parts());
        }
        let by_part = self.by_part.lock();
        let states = policy.parts().iter().map(|part| {
            let states = by_part.get(&(policy.space(), part.slot));
            let least = states.and_then(|states| self.least(states, hash, part, now));
            least.cloned().unwrap_or_else(|| part.rule.fresh())
        });
        Slots::collect(states, policy.parts())
    }

    /// The least used of a key's states for one part; of those, the first to be full.
    fn least<'a>(
        &self,
        states: &'a [State],
        hash: u64,
        part: &Part,
        now: Timestamp,
    ) -> Option<&'a State> {
        let states = self.places(hash).map(|place| &states[place]);
        states.min_by_key(|state| {
            let remaining = part.rule.remaining(state, now);
            (
                std::cmp::Reverse(remaining),
                part.rule.reset_after(state, now),
            )
        })
    }

    /// Charges every state of a key.
    pub(super) fn charge(&self, hash: u64, policy: &Policy, cost: Cost, now: Timestamp) {
        let mut by_part = self.by_part.lock();
        for part in policy.parts() {
            let states = by_part
                .entry((policy.space(), part.slot))
                .or_insert_with(|| (0..self.count).map(|_| part.rule.fresh()).collect());
            let mut charged = None;
            for place in self
                .places(hash)
                .filter(|place| charged.replace(*place) != Some(*place))
            {
                let state = &mut states[place];
                part.rule.charge_shared(state, now, cost.as_micros());
                let full_at = now + part.rule.reset_after(state, now);
                self.full_at
                    .fetch_max(full_at.as_nanos(), Ordering::Release);
            }
        }
    }

    /// Stamps those of a key's states anew that the clock stepped back behind.
    pub(super) fn restamp(&self, hash: u64, policy: &Policy, now: Timestamp) {
        if self.full_at.load(Ordering::Acquire) <= now.as_nanos() {
            return;
        }
        let mut by_part = self.by_part.lock();
        for part in policy.parts() {
            if let Some(states) = by_part.get_mut(&(policy.space(), part.slot)) {
                for place in self.places(hash) {
                    part.rule.restamp(&mut states[place], now);
                }
            }
        }
    }

    /// The places of a key's states, in ascending order.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.count - 1;
        let place =
            |n: u32| usize::try_from(hash >> (n * BITS_PER_STATE) & 0xffff).unwrap_or(0) & mask;
        let mut places: [usize; STATES_PER_KEY as usize] =
            std::array::from_fn(|n| place(u32::try_from(n).unwrap_or(0)));
        places.sort_unstable();
        places.into_iter()
    }
}
