//! The table: every key's states, in shards, each under a lock of its own.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use siphasher::sip::SipHasher13;

use super::account::{Account, MAX_PARTS};
use super::overflow::SharedStates;
use super::shard::Shard;
use super::{MemoryConfig, Overflow};
use crate::amount::Cost;
use crate::check::{Check, Mode};
use crate::decision::Decision;
use crate::time::{Span, Timestamp};

/// Shards are chosen so that each holds about this many keys at most: then sweeping or growing one
/// holds its lock for some microseconds.
const KEYS_PER_SHARD: usize = 512;
const SHARDS_MIN: usize = 16;
const SHARDS_MAX: usize = 4096;

/// How long a new key is told to wait under [`Overflow::Deny`] when nothing in its shard says when
/// room comes.
const NO_ROOM_WAIT: Span = Span::from_secs(1);

/// Where the states of a key in the middle of a call came from, and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// The table, which holds an entry for them.
    Table,
    /// Nowhere yet: a new key that was asked nothing so far.
    New,
    /// Nowhere yet, but a place in the table is reserved.
    Reserved,
    /// The shared states.
    Shared,
    /// Nowhere: the store is full.
    Nowhere,
}

/// A key in the middle of a call.
pub(super) struct Held<'a> {
    pub(super) account: Account<'a>,
    hash: u64,
    shard: usize,
    home: Home,
    /// Whether the states were changed.
    changed: bool,
}

impl Held<'_> {
    pub(super) fn shard(&self) -> usize {
        self.shard
    }
}

/// All keys.
#[derive(Debug)]
pub(super) struct Table {
    shards: Box<[Mutex<Shard>]>,
    secret: (u64, u64),
    max_keys: usize,
    overflow: Overflow,
    shared: SharedStates,
    /// Entries in all shards, and places reserved for more.
    live: AtomicUsize,
    overflowed: AtomicU64,
    /// Which shard is swept next when a full one looks for room elsewhere.
    next_help: AtomicUsize,
}

impl Table {
    pub(super) fn new(config: &MemoryConfig) -> Table {
        let max_keys = config.max_keys.max(1);
        let shards = config.shards.unwrap_or(max_keys / KEYS_PER_SHARD);
        let shards = shards.clamp(SHARDS_MIN, SHARDS_MAX).next_power_of_two();
        // The standard library's random state is the only source of randomness that needs no
        // dependency; two hashes of it make a 128-bit key.
        let random = || RandomState::new().hash_one(max_keys);
        Table {
            shards: (0..shards).map(|_| Mutex::new(Shard::EMPTY)).collect(),
            secret: (random(), random()),
            max_keys,
            overflow: config.overflow,
            shared: SharedStates::new(max_keys),
            live: AtomicUsize::new(0),
            overflowed: AtomicU64::new(0),
            next_help: AtomicUsize::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        // Relaxed: a figure for people.
        self.live.load(Ordering::Relaxed).min(self.max_keys)
    }

    pub(super) fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    pub(super) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// What stands for policy and key.
    pub(super) fn hash(&self, check: &Check<'_>) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.secret.0, self.secret.1);
        hasher.write_u64(check.policy.space());
        hasher.write(check.key.as_bytes());
        hasher.finish()
    }

    /// Which shard a hash lives in, by bits that the hash table inside it does not use.
    pub(super) fn shard_of(&self, hash: u64) -> usize {
        let bits = usize::try_from(hash >> 40 & 0xffff).unwrap_or(0);
        bits & (self.shards.len() - 1)
    }

    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].lock()
    }

    /// Decides one check.
    pub(super) fn take_one(&self, check: &Check<'_>, now: Timestamp) -> Decision {
        let hash = self.hash(check);
        let mut shard = self.lock(self.shard_of(hash));
        let mut held = self.open(&mut shard, check, hash, now);
        self.make_room(&mut shard, &mut held, check, now);
        let mut waits = [Some(Span::ZERO); MAX_PARTS];
        let waits = &mut waits[..check.policy.parts().len()];
        let passes = held.account.ask(check, now, waits);
        self.settle(&mut held, check, passes, now);
        let decision = held.account.decision(waits, now);
        self.close(&mut shard, held, now);
        decision
    }

    /// Takes a key's states out of its shard, or makes those of a new key.
    pub(super) fn open<'a>(
        &self,
        shard: &mut Shard,
        check: &Check<'a>,
        hash: u64,
        now: Timestamp,
    ) -> Held<'a> {
        let policy = check.policy;
        let (home, slots) = match shard.take_out(hash) {
            Some(slots) => (Home::Table, slots),
            // What a key used while the store was full is known only to the shared states.
            None => (Home::New, self.shared.least_used(hash, policy, now)),
        };
        let account = Account::new(policy, slots);
        Held {
            account,
            hash,
            shard: self.shard_of(hash),
            home,
            changed: false,
        }
    }

    /// Finds a place for a new key that a check may charge, or has the overflow stance decide.
    pub(super) fn make_room(
        &self,
        shard: &mut Shard,
        held: &mut Held<'_>,
        check: &Check<'_>,
        now: Timestamp,
    ) {
        if held.home != Home::New || check.mode == Mode::Peek || check.cost.is_zero() {
            return;
        }
        if self.reserve(shard, now) {
            held.home = Home::Reserved;
            return;
        }
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        held.home = match self.overflow {
            Overflow::Shared => Home::Shared,
            Overflow::Deny | Overflow::Allow => Home::Nowhere,
        };
        if self.overflow == Overflow::Deny {
            held.account.no_room = Some(shard.room_after(now).unwrap_or(NO_ROOM_WAIT));
        }
    }

    /// Does to a key's states what the check does, given whether its call passes.
    pub(super) fn settle(
        &self,
        held: &mut Held<'_>,
        check: &Check<'_>,
        passes: bool,
        now: Timestamp,
    ) {
        match check.mode {
            Mode::Debit => self.charge(held, check.cost, now),
            Mode::Take if passes => self.charge(held, check.cost, now),
            Mode::Take if !check.cost.is_zero() => self.restamp(held, now),
            Mode::Take | Mode::Peek => {}
        }
    }

    /// Stamps the account's states anew that the clock stepped back behind, and those that a key
    /// without a place in the table came from.
    fn restamp(&self, held: &mut Held<'_>, now: Timestamp) {
        held.account.restamp(now);
        if held.home != Home::Table {
            self.shared.restamp(held.hash, held.account.policy, now);
        }
    }

    /// Charges the account, and the shared states when they are its home.
    fn charge(&self, held: &mut Held<'_>, cost: Cost, now: Timestamp) {
        if cost.is_zero() {
            return;
        }
        held.changed = true;
        held.account.charge(cost, now);
        if held.home == Home::Shared {
            self.shared
                .charge(held.hash, held.account.policy, cost, now);
        }
    }

    /// Puts a key's states back where they belong.
    pub(super) fn close(&self, shard: &mut Shard, mut held: Held<'_>, now: Timestamp) {
        match held.home {
            Home::Table => {
                let full_at = held.changed.then(|| held.account.full_at(now));
                shard.put_back(held.hash, held.account.slots, full_at);
            }
            Home::Reserved if held.changed => {
                let full_at = held.account.full_at(now);
                shard.insert(held.hash, held.account.slots, full_at);
            }
            Home::Reserved => {
                self.live.fetch_sub(1, Ordering::Relaxed);
            }
            Home::New | Home::Shared | Home::Nowhere => {}
        }
    }

    /// Gives a key back what it took.
    pub(super) fn refund(&self, check: &Check<'_>, now: Timestamp, taken_at: Timestamp) {
        let hash = self.hash(check);
        let mut shard = self.lock(self.shard_of(hash));
        let mut held = self.open(&mut shard, check, hash, now);
        if held.home != Home::Table {
            return;
        }
        held.account.refund(check.cost, now, taken_at);
        held.changed = true;
        self.close(&mut shard, held, now);
    }

    /// Forgets a key under a policy.
    pub(super) fn reset(&self, check: &Check<'_>) {
        let hash = self.hash(check);
        let mut shard = self.lock(self.shard_of(hash));
        if shard.remove(hash) {
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sweeps one shard.
    pub(super) fn sweep(&self, shard: usize, now: Timestamp) {
        let dropped = self.lock(shard).sweep(now);
        self.live.fetch_sub(dropped, Ordering::Relaxed);
    }

    /// Reserves a place for one more key: a free one, else one of a key that is back to full in this
    /// shard, else in one other.
    fn reserve(&self, shard: &mut Shard, now: Timestamp) -> bool {
        // Relaxed: the count guards no other memory, and its bound holds by the atomic add alone.
        self.reserve_free() || self.reclaim(shard, now) || {
            let other = self.next_help.fetch_add(1, Ordering::Relaxed) & (self.shards.len() - 1);
            // Only tried: waiting for a lock out of order could deadlock.
            let other = self.shards[other].try_lock();
            other.is_some_and(|mut other| self.reclaim(&mut other, now))
        }
    }

    fn reserve_free(&self) -> bool {
        let below = |live: usize| (live < self.max_keys).then_some(live + 1);
        self.live
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, below)
            .is_ok()
    }

    /// Sweeps a shard and reserves one of the places that became free.
    fn reclaim(&self, shard: &mut Shard, now: Timestamp) -> bool {
        let dropped = shard.sweep(now);
        self.live.fetch_sub(dropped, Ordering::Relaxed);
        dropped > 0 && self.reserve_free()
    }
}
