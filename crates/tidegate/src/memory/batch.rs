//! Several checks in one call: all or nothing, whatever keys they name.

use std::collections::HashMap;

use super::account::{Account, MAX_PARTS, Taken, Wait};
use super::lock::MutexGuard;
use super::shard::Shard;
use super::table::{Home, States, Table};
use crate::check::Check;
use crate::decision::Decision;
use crate::mode::Mode;
use crate::policy::Policy;
use crate::time::{Span, Timestamp};

/// A key in the middle of a call: a copy of its states, and where they go.
struct Held<'a> {
    policy: &'a Policy,
    hash: u64,
    shard: usize,
    states: States,
    /// Where they go when the key has no entry.
    home: Option<Home>,
    /// What the call has asked of them so far.
    pending: u64,
    /// When they are back to full, if they were charged.
    full_at: Option<Timestamp>,
}

impl Held<'_> {
    fn account<'a>(&'a mut self, shard: &'a mut Shard, now: Timestamp) -> Account<'a> {
        let no_room = self.home.and_then(Home::no_room);
        let Held { policy, states, pending, .. } = self;
        Account { policy, states, logs: shard.logs_mut(), now, pending: *pending, no_room }
    }
}

impl Table {
    /// Decides all checks together, in their order.
    pub(super) fn take_all(&self, checks: &[Check<'_>], now: Timestamp) -> Vec<Decision> {
        let hashes: Vec<u64> = checks.iter().map(|check| self.hash(check)).collect();
        let mut shards = self.lock_all(&hashes);
        let (mut held, places) = self.hold(&mut shards, checks, &hashes, now);

        let mut waits: Vec<[Wait; MAX_PARTS]> = vec![[Some(Span::ZERO); MAX_PARTS]; checks.len()];
        let mut allowed = true;
        for ((check, &place), waits) in checks.iter().zip(&places).zip(&mut waits) {
            let held = &mut held[place];
            let shard = shards.get_mut(held.shard);
            let passes =
                held.account(shard, now).ask(check, &mut waits[..check.policy.parts().len()]);
            allowed &= passes || check.mode != Mode::Take;
            if check.mode != Mode::Peek {
                held.pending = held.pending.saturating_add(check.cost.as_micros());
            }
        }
        let each = checks.iter().zip(&places).zip(&waits);
        let decisions = each.map(|((check, &place), waits)| {
            let held = &mut held[place];
            let mut account = held.account(shards.get_mut(held.shard), now);
            let waits = &waits[..check.policy.parts().len()];
            let Taken { decision, full_at } = account.conclude(check, waits, allowed);
            if let Some(home) = held.home {
                self.settle_shared(check, held.hash, home, full_at.is_some(), now);
            }
            held.full_at = full_at.or(held.full_at);
            decision
        });
        let decisions = decisions.collect();
        held.into_iter().for_each(|held| self.put(&mut shards, held, now));
        decisions
    }

    /// Copies the states of every key of a call, once each, and says which check has which.
    fn hold<'a>(
        &self,
        shards: &mut Locked<'_>,
        checks: &[Check<'a>],
        hashes: &[u64],
        now: Timestamp,
    ) -> (Vec<Held<'a>>, Vec<usize>) {
        let mut held: Vec<Held<'_>> = Vec::with_capacity(checks.len());
        let mut known: HashMap<u64, usize> = HashMap::with_capacity(checks.len());
        let places = checks.iter().zip(hashes).map(|(check, &hash)| {
            let shard = shards.get_mut(self.shard_of(hash));
            let place = *known.entry(hash).or_insert_with(|| {
                held.push(self.copy(shard, check, hash, now));
                held.len() - 1
            });
            let held = &mut held[place];
            if held.home == Some(Home::None) {
                held.home = Some(self.find_home(shard, check, now));
            }
            place
        });
        let places = places.collect();
        (held, places)
    }

    fn copy<'a>(
        &self,
        shard: &mut Shard,
        check: &Check<'a>,
        hash: u64,
        now: Timestamp,
    ) -> Held<'a> {
        let policy = check.policy;
        let entry = shard.entry(policy, hash, now);
        let copied = entry.map(|mut entry| States::from(&entry.states_mut()[..policy.words()]));
        let (states, home) = match copied {
            Some(states) => (states, None),
            None => (self.seeded(shard, policy, hash, now), Some(Home::None)),
        };
        Held { policy, hash, shard: self.shard_of(hash), states, home, pending: 0, full_at: None }
    }

    /// Puts a key's states back where they belong.
    fn put(&self, shards: &mut Locked<'_>, held: Held<'_>, now: Timestamp) {
        let Held { policy, hash, shard, states, home, full_at, .. } = held;
        let shard = shards.get_mut(shard);
        if let Some(home) = home {
            self.put_new(shard, policy, hash, states, home, full_at, now);
        } else if let Some(mut entry) = shard.entry(policy, hash, now) {
            entry.states_mut()[..states.len()].copy_from_slice(&states);
            if let Some(full_at) = full_at {
                entry.set_full_at(policy, full_at);
            }
        }
    }

    /// Locks every shard that these hashes live in, lowest first: the one order of locks.
    fn lock_all(&self, hashes: &[u64]) -> Locked<'_> {
        let mut indices: Vec<usize> = hashes.iter().map(|&hash| self.shard_of(hash)).collect();
        indices.sort_unstable();
        indices.dedup();
        let guards = indices.iter().map(|&index| self.lock(index)).collect();
        Locked { indices, guards }
    }
}

/// The shards of one call, all locked.
struct Locked<'a> {
    indices: Vec<usize>,
    guards: Vec<MutexGuard<'a, Shard>>,
}

impl Locked<'_> {
    fn get_mut(&mut self, shard: usize) -> &mut Shard {
        let place = self.indices.partition_point(|&index| index < shard);
        &mut self.guards[place]
    }
}
