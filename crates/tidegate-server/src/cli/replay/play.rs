//! Requests, one key after the other, through a memory store in the log's own time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use tidegate::{
    Check, Cost, Decision, Key, ManualClock, MemoryConfig, MemoryStore, Outcome, Policy, Timestamp,
};

use super::record::Record;

const NANOS_PER_MINUTE: u64 = 60_000_000_000;

/// Keys the store has room for; only one is ever held.
const STORE_KEYS: usize = 1_024;

/// What was allowed and denied.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) allowed: Sum,
    pub(super) denied: Sum,
    /// Of the denied those whose cost is more than a limit can ever hold.
    pub(super) exceeds: u64,
    /// Denials by the place of the limit that governed them.
    pub(super) by_limit: Vec<u64>,
    pub(super) keys: u64,
    pub(super) keys_denied: u64,
    /// The keys denied most, those denied most first.
    pub(super) most_denied: Vec<KeyTally>,
    pub(super) worst_minute: Option<WorstMinute>,
}

/// Requests and what they cost together, in millionths of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) requests: u64,
    pub(super) cost: u128,
}

impl Sum {
    fn add(&mut self, cost: u64) {
        self.requests += 1;
        self.cost += u128::from(cost);
    }
}

/// The minute with the most denials; of equals the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorstMinute {
    /// Unix nanoseconds.
    pub(super) start: u64,
    pub(super) asked: u64,
    pub(super) denied: u64,
}

/// One key's requests. The order is by denials; of equals the one denied first is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyTally {
    pub(super) denied: u64,
    /// Unix nanoseconds.
    pub(super) first_denied: Reverse<u64>,
    pub(super) hash: u64,
    pub(super) asked: u64,
}

/// Plays requests and counts the answers.
pub(super) struct Player {
    clock: Arc<ManualClock>,
    store: MemoryStore<Arc<ManualClock>>,
    policy: Arc<Policy>,
    top: usize,
    tally: Tally,
    current: Option<KeyTally>,
    most_denied: BinaryHeap<Reverse<KeyTally>>,
    /// Asked and denied in each minute. A minute with 2^32 requests would need 71 million a second.
    minutes: HashMap<u32, (u32, u32)>,
}

impl Player {
    /// A player that lists the `top` most denied keys.
    pub(super) fn new(policy: Arc<Policy>, top: usize) -> Player {
        let clock = Arc::new(ManualClock::default());
        let config = MemoryConfig { max_keys: STORE_KEYS, ..MemoryConfig::default() };
        Player {
            store: MemoryStore::with_clock(config, clock.clone()),
            clock,
            top,
            tally: Tally { by_limit: vec![0; policy.limits().len()], ..Tally::default() },
            policy,
            current: None,
            most_denied: BinaryHeap::new(),
            minutes: HashMap::new(),
        }
    }

    /// Plays one request; those of one key must come together, in order of time.
    pub(super) fn play(&mut self, request: Record) {
        if self.current.is_none_or(|key| key.hash != request.key) {
            self.leave_key();
        }
        self.clock.set(Timestamp::from_nanos(request.time));
        let decision = self.take(request);
        let key = self.current.get_or_insert(KeyTally {
            denied: 0,
            first_denied: Reverse(request.time),
            hash: request.key,
            asked: 0,
        });
        key.asked += 1;
        let minute = u32::try_from(request.time / NANOS_PER_MINUTE).unwrap_or(u32::MAX);
        let (asked, denied) = self.minutes.entry(minute).or_default();
        *asked = asked.saturating_add(1);
        if decision.is_allowed() {
            self.tally.allowed.add(request.cost);
            return;
        }
        if key.denied == 0 {
            key.first_denied = Reverse(request.time);
        }
        key.denied += 1;
        *denied = denied.saturating_add(1);
        self.tally.denied.add(request.cost);
        self.tally.by_limit[decision.limit_index] += 1;
        self.tally.exceeds += u64::from(decision.outcome == Outcome::Exceeds);
    }

    fn take(&self, request: Record) -> Decision {
        let bytes = request.key.to_le_bytes();
        self.store.take_one(&check(&bytes, &self.policy, request.cost))
    }

    /// Counts the key played so far, and forgets its state: it is not asked again.
    fn leave_key(&mut self) {
        let Some(key) = self.current.take() else {
            return;
        };
        let bytes = key.hash.to_le_bytes();
        self.store.reset(&[check(&bytes, &self.policy, 0)]);
        self.tally.keys += 1;
        if key.denied == 0 {
            return;
        }
        self.tally.keys_denied += 1;
        self.most_denied.push(Reverse(key));
        if self.most_denied.len() > self.top {
            self.most_denied.pop();
        }
    }

    /// What was counted.
    pub(super) fn finish(mut self) -> Tally {
        self.leave_key();
        let worst = self.minutes.iter().filter(|(_, (_, denied))| *denied > 0);
        let worst = worst.max_by_key(|(minute, (_, denied))| (*denied, Reverse(**minute)));
        self.tally.worst_minute = worst.map(|(minute, (asked, denied))| WorstMinute {
            start: u64::from(*minute) * NANOS_PER_MINUTE,
            asked: u64::from(*asked),
            denied: u64::from(*denied),
        });
        let most = self.most_denied.into_sorted_vec();
        self.tally.most_denied = most.into_iter().map(|Reverse(key)| key).collect();
        self.tally
    }
}

/// The question of one request.
fn check<'a>(key: &'a [u8; 8], policy: &'a Policy, cost: u64) -> Check<'a> {
    let key = Key::new(key).expect("8 bytes are neither none nor too many");
    Check::take(key, policy, Cost::from_micros(cost))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate::{Amount, Limit, Span};

    use super::*;

    fn policy(algorithm: usize) -> Policy {
        let (three, window) = (Amount::from_units(3), Span::from_secs(5));
        let first = match algorithm {
            0 => Limit::quota("first", "3/5s"),
            1 => Limit::fixed_window("first", three, window),
            2 => Limit::fixed_window_from_first("first", three, window),
            3 => Limit::rolling_window("first", three, window),
            _ => Limit::sliding_window("first", three, window),
        };
        let first = first.and_then(|limit| limit.with_min_interval(Span::from_secs(1)));
        let second = Limit::quota("second", "1/s burst 9").expect("a limit");
        Policy::new("p", [first.expect("a limit"), second]).expect("a policy")
    }

    proptest! {
        /// The claim that all of replay rests on: playing key by key, with one key's state held,
        /// gives the answers that a service would have given in the order of time.
        #[test]
        fn playing_key_by_key_is_playing_in_order_of_time(
            algorithm in 0_usize..5,
            asked in proptest::collection::vec((0_u64..3, 0_u64..30, 0_u64..5), 1..60),
        ) {
            let half_seconds = |count| 1_500_000_000_000_000_000 + count * 500_000_000;
            let mut requests: Vec<Record> = asked
                .into_iter()
                .map(|(key, time, cost)| Record {
                    key,
                    time: half_seconds(time),
                    cost: cost * 1_000_000,
                })
                .collect();
            let policy = Arc::new(policy(algorithm));

            requests.sort_by_key(|request| request.time);
            let clock = Arc::new(ManualClock::default());
            let service = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
            let (mut allowed, mut denied) = (Sum::default(), Sum::default());
            let mut by_limit = vec![0; 2];
            for request in &requests {
                clock.set(Timestamp::from_nanos(request.time));
                let bytes = request.key.to_le_bytes();
                let decision = service.take_one(&check(&bytes, &policy, request.cost));
                match decision.is_allowed() {
                    true => allowed.add(request.cost),
                    false => {
                        denied.add(request.cost);
                        by_limit[decision.limit_index] += 1;
                    }
                }
            }

            requests.sort_by_key(|request| request.key);
            let mut player = Player::new(policy, 10);
            requests.iter().for_each(|request| player.play(*request));
            let tally = player.finish();
            prop_assert_eq!((tally.allowed, tally.denied), (allowed, denied));
            prop_assert_eq!(tally.by_limit, by_limit);
        }
    }
}
