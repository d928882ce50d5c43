//! The table: every key's states, in shards, each under a lock of its own.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use smallvec::{SmallVec, smallvec};

use super::account::{Account, Taken};
use super::hash::Secret;
use super::hint::{Hint, fetch};
use super::lock::{Mutex, MutexGuard};
use super::overflow::SharedStates;
use super::shard::{Entry, Shard};
use super::{MemoryConfig, Overflow};
use crate::check::Check;
use crate::decision::Decision;
use crate::mode::Mode;
use crate::policy::{Part, Policy};
use crate::time::{Span, Timestamp};

/// Shards are chosen so that each holds about this many keys at most: then sweeping or growing one
/// holds its lock for some microseconds.
const KEYS_PER_SHARD: usize = 512;
const SHARDS_MIN: usize = 16;
const SHARDS_MAX: usize = 4096;

/// How many checks' lines are fetched at once: about as many as a processor has on their way.
const AHEAD: usize = 16;

/// How long a new key is told to wait under [`Overflow::Deny`] when nothing in its shard says when
/// room comes.
const NO_ROOM_WAIT: Span = Span::from_secs(1);

/// What a clock must go back by between two sweeps to have been set back.
const CLOCK_STEP: Span = Span::from_secs(1);

/// A shard on a cache line of its own, so that two threads at neighbours do not disturb each other.
#[derive(Debug)]
#[repr(align(64))]
struct Line(Mutex<Shard>);

const _: () = assert!(size_of::<Line>() == 64, "a shard and its lock fill one line");

impl Entry<'_> {
    /// Decides one check of a policy that has one part.
    #[inline(always)]
    fn take_part(&mut self, part: &Part, check: &Check<'_>, now: Timestamp) -> Decision {
        let (states, logs) = self.parts_mut();
        let answer = part.rule.decide(states, logs, now, check.cost.as_micros(), check.mode);
        if answer.charged {
            self.set_full_at(check.policy, now + answer.reset_after);
        }
        part.decided(&answer)
    }
}

/// The states of a key that has no entry.
pub(super) type States = SmallVec<[u64; 4]>;

/// Where the states of a key that has no entry go once they are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Nowhere: the key is only looked at.
    None,
    /// A place in the table, which is reserved.
    Reserved,
    /// The shared states.
    Shared,
    /// Nowhere: the store is full, and new keys are denied, or allowed uncounted.
    Nowhere {
        /// How long to wait for room, where new keys are denied.
        deny: Option<Span>,
    },
}

impl Home {
    /// How long a new key waits for room in the store.
    pub(super) fn no_room(self) -> Option<Span> {
        match self {
            Home::Nowhere { deny } => deny,
            Home::None | Home::Reserved | Home::Shared => None,
        }
    }
}

/// All keys.
#[derive(Debug)]
pub(super) struct Table {
    shards: Box<[Line]>,
    /// Where the entries of each shard lie: apart from the shards, which every check writes.
    hints: Box<[Hint]>,
    secret: Secret,
    max_keys: usize,
    overflow: Overflow,
    shared: SharedStates,
    /// Entries in all shards, and places reserved for more.
    live: AtomicUsize,
    overflowed: AtomicU64,
    /// When a sweep last began, in nanoseconds.
    swept_at: AtomicU64,
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
            shards: (0..shards).map(|_| Line(Mutex::new(Shard::empty()))).collect(),
            hints: (0..shards).map(|_| Hint::default()).collect(),
            secret: Secret(random(), random()),
            max_keys,
            overflow: config.overflow,
            shared: SharedStates::new(max_keys),
            live: AtomicUsize::new(0),
            overflowed: AtomicU64::new(0),
            swept_at: AtomicU64::new(0),
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

    /// What stands for policy and key; never zero, which marks a free place.
    #[inline]
    pub(super) fn hash(&self, check: &Check<'_>) -> u64 {
        self.secret.of(check.policy.space()).hash(check.key.as_bytes()).max(1)
    }

    /// Which shard a hash lives in, by bits that do not order entries within it.
    pub(super) fn shard_of(&self, hash: u64) -> usize {
        let bits = usize::try_from(hash >> 40 & 0xffff).unwrap_or(0);
        bits & (self.shards.len() - 1)
    }

    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].0.lock()
    }

    /// Decides one check.
    pub(super) fn take_one(&self, check: &Check<'_>, now: Timestamp) -> Decision {
        let hash = self.hash(check);
        self.hints[self.shard_of(hash)].fetch(hash);
        self.take_hashed(check, hash, now)
    }

    /// Decides each check on its own, in order.
    ///
    /// The lines of some checks ahead are on their way while one is decided.
    pub(super) fn take_each(&self, checks: &[Check<'_>], now: Timestamp) -> Vec<Decision> {
        let mut decisions = Vec::with_capacity(checks.len());
        for checks in checks.chunks(AHEAD) {
            let mut hashes = [0; AHEAD];
            for (hash, check) in hashes.iter_mut().zip(checks) {
                *hash = self.hash(check);
                let shard = self.shard_of(*hash);
                fetch(&self.shards[shard]);
                self.hints[shard].fetch(*hash);
            }
            let each = checks.iter().zip(hashes);
            decisions.extend(each.map(|(check, hash)| self.take_hashed(check, hash, now)));
        }
        decisions
    }

    /// Decides one check, its hash known.
    #[inline]
    fn take_hashed(&self, check: &Check<'_>, hash: u64, now: Timestamp) -> Decision {
        let mut shard = self.lock(self.shard_of(hash));
        // Most policies have one part; then there is nothing to agree on, and the state is read once.
        // Most of those have a small state, whose size the compiler knows here.
        if let [part] = check.policy.parts()
            && let Some(mut entry) = shard.small_entry(check.policy, hash)
        {
            return entry.take_part(part, check, now);
        }
        self.take_listed(&mut shard, check, hash, now)
    }

    /// Decides one check of a key wherever its entry is, if it has one.
    #[inline(never)]
    fn take_listed(
        &self,
        shard: &mut Shard,
        check: &Check<'_>,
        hash: u64,
        now: Timestamp,
    ) -> Decision {
        let policy = check.policy;
        let Some(mut entry) = shard.entry(policy, hash, now) else {
            return self.take_new(shard, check, hash, now);
        };
        if let [part] = policy.parts() {
            return entry.take_part(part, check, now);
        }
        let (states, logs) = entry.parts_mut();
        let mut account = Account { policy, states, logs, now, pending: 0, no_room: None };
        let Taken { decision, full_at } = account.take(check);
        if let Some(full_at) = full_at {
            entry.set_full_at(policy, full_at);
        }
        decision
    }

    /// Decides one check of a key that has no entry.
    #[inline(never)]
    fn take_new(
        &self,
        shard: &mut Shard,
        check: &Check<'_>,
        hash: u64,
        now: Timestamp,
    ) -> Decision {
        let policy = check.policy;
        let mut states = self.seeded(shard, policy, hash, now);
        let home = self.find_home(shard, check, now);
        let (logs, no_room) = (shard.logs_mut(), home.no_room());
        let mut account = Account { policy, states: &mut states, logs, now, pending: 0, no_room };
        let Taken { decision, full_at } = account.take(check);
        self.settle_shared(check, hash, home, full_at.is_some(), now);
        self.put_new(shard, policy, hash, states, home, full_at, now);
        decision
    }

    /// The states of a key that has no entry: full, but for what it may have used while the store was.
    pub(super) fn seeded(
        &self,
        shard: &mut Shard,
        policy: &Policy,
        hash: u64,
        now: Timestamp,
    ) -> States {
        let mut states: States = smallvec![0; policy.words()];
        self.shared.seed(policy, hash, &mut states, shard.logs_mut(), now);
        states
    }

    /// Finds a place for a new key that a check may charge, or has the overflow stance decide.
    pub(super) fn find_home(&self, shard: &mut Shard, check: &Check<'_>, now: Timestamp) -> Home {
        if check.mode == Mode::Peek || check.cost.is_zero() {
            return Home::None;
        }
        if self.reserve(shard, now) {
            return Home::Reserved;
        }
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        match self.overflow {
            Overflow::Shared => Home::Shared,
            Overflow::Allow => Home::Nowhere { deny: None },
            Overflow::Deny => {
                Home::Nowhere { deny: Some(shard.room_after(now).unwrap_or(NO_ROOM_WAIT)) }
            }
        }
    }

    /// Keeps a new key's states where they belong, if they were charged, and forgets them otherwise.
    #[allow(clippy::too_many_arguments, reason = "they are all of one new key")]
    pub(super) fn put_new(
        &self,
        shard: &mut Shard,
        policy: &Policy,
        hash: u64,
        mut states: States,
        home: Home,
        full_at: Option<Timestamp>,
        now: Timestamp,
    ) {
        if let (Home::Reserved, Some(full_at)) = (home, full_at) {
            // A clock that steps back before the first sweep must be told from one that never ran.
            if self.swept_at.load(Ordering::Relaxed) == 0 {
                self.swept_at.store(now.as_nanos(), Ordering::Relaxed);
            }
            let dropped = shard.insert(policy, hash, &states, full_at, now);
            self.hints[self.shard_of(hash)].set(shard.main());
            self.live.fetch_sub(dropped, Ordering::Relaxed);
            return;
        }
        let (states, logs) = (&mut states, shard.logs_mut());
        Account { policy, states, logs, now, pending: 0, no_room: None }.discard();
        if home == Home::Reserved {
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Does to the shared states what a check of a key that has no entry does.
    pub(super) fn settle_shared(
        &self,
        check: &Check<'_>,
        hash: u64,
        home: Home,
        charged: bool,
        now: Timestamp,
    ) {
        if charged && home == Home::Shared {
            self.shared.charge(check.policy, hash, check.cost, now);
        } else if !charged && check.mode == Mode::Take && !check.cost.is_zero() {
            self.shared.restamp(check.policy, hash, now);
        }
    }

    /// Gives a key back what it took.
    pub(super) fn refund(&self, check: &Check<'_>, now: Timestamp, taken_at: Timestamp) {
        let (hash, policy) = (self.hash(check), check.policy);
        let mut shard = self.lock(self.shard_of(hash));
        let Some(mut entry) = shard.entry(policy, hash, now) else { return };
        let (states, logs) = entry.parts_mut();
        let mut account = Account { policy, states, logs, now, pending: 0, no_room: None };
        account.refund(check.cost, taken_at);
        let full_at = account.full_at();
        entry.set_full_at(policy, full_at);
    }

    /// Forgets a key under a policy.
    pub(super) fn reset(&self, check: &Check<'_>, now: Timestamp) {
        let hash = self.hash(check);
        if self.lock(self.shard_of(hash)).remove(check.policy, hash, now) {
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Looks at the clock before a sweep: when it stepped back, everything is back to full sooner by as
    /// much. Without it what is idle would stay until the clock is back where it was.
    pub(super) fn look_at_clock(&self, now: Timestamp) {
        let before = Timestamp::from_nanos(self.swept_at.swap(now.as_nanos(), Ordering::Relaxed));
        let back = before.since(now);
        if back > CLOCK_STEP {
            self.shards.iter().for_each(|shard| shard.0.lock().step_back(back));
        }
    }

    /// Sweeps one shard.
    pub(super) fn sweep(&self, shard: usize, now: Timestamp) {
        let mut swept = self.lock(shard);
        let dropped = swept.sweep(now);
        self.hints[shard].set(swept.main());
        self.live.fetch_sub(dropped, Ordering::Relaxed);
    }

    /// Reserves a place for one more key: a free one, else one of a key that is back to full in this
    /// shard, else in one other.
    fn reserve(&self, shard: &mut Shard, now: Timestamp) -> bool {
        // Relaxed: the count guards no other memory, and its bound holds by the atomic add alone.
        self.reserve_free() || self.reclaim(shard, now) || {
            let other = self.next_help.fetch_add(1, Ordering::Relaxed) & (self.shards.len() - 1);
            // Only tried: waiting for a lock out of order could deadlock.
            let other = self.shards[other].0.try_lock();
            other.is_some_and(|mut other| self.reclaim(&mut other, now))
        }
    }

    fn reserve_free(&self) -> bool {
        let below = |live: usize| (live < self.max_keys).then_some(live + 1);
        self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below).is_ok()
    }

    /// Sweeps a shard and reserves one of the places that became free.
    fn reclaim(&self, shard: &mut Shard, now: Timestamp) -> bool {
        let dropped = shard.sweep(now);
        self.live.fetch_sub(dropped, Ordering::Relaxed);
        dropped > 0 && self.reserve_free()
    }
}
