//! Several checks in one call: all or nothing, whatever keys they name.

use std::collections::HashMap;

use parking_lot::MutexGuard;

use super::account::{MAX_PARTS, Wait};
use super::shard::Shard;
use super::table::{Held, Table};
use crate::check::{Check, Mode};
use crate::decision::Decision;
use crate::time::{Span, Timestamp};

impl Table {
    /// Decides all checks together, in their order.
    pub(super) fn take_all(&self, checks: &[Check<'_>], now: Timestamp) -> Vec<Decision> {
        let hashes: Vec<u64> = checks.iter().map(|check| self.hash(check)).collect();
        let mut shards = self.lock_all(&hashes);
        let mut held: Vec<Held<'_>> = Vec::with_capacity(checks.len());
        let mut places: HashMap<u64, usize> = HashMap::with_capacity(checks.len());
        let accounts: Vec<usize> = checks
            .iter()
            .zip(&hashes)
            .map(|(check, &hash)| {
                *places.entry(hash).or_insert_with(|| {
                    let shard = shards.get_mut(self.shard_of(hash));
                    held.push(self.open(shard, check, hash, now));
                    held.len() - 1
                })
            })
            .collect();
        for (check, &place) in checks.iter().zip(&accounts) {
            self.make_room(
                shards.get_mut(held[place].shard()),
                &mut held[place],
                check,
                now,
            );
        }

        let mut waits: Vec<[Wait; MAX_PARTS]> = vec![[Some(Span::ZERO); MAX_PARTS]; checks.len()];
        let mut allowed = true;
        for ((check, &place), waits) in checks.iter().zip(&accounts).zip(&mut waits) {
            let parts = check.policy.parts().len();
            let passes = held[place].account.ask(check, now, &mut waits[..parts]);
            allowed &= passes || check.mode != Mode::Take;
        }
        let decisions = checks
            .iter()
            .zip(&accounts)
            .zip(&waits)
            .map(|((check, &place), waits)| {
                let held = &mut held[place];
                self.settle(held, check, allowed, now);
                held.account
                    .decision(&waits[..check.policy.parts().len()], now)
            });
        let decisions = decisions.collect();
        for held in held {
            let shard = shards.get_mut(held.shard());
            self.close(shard, held, now);
        }
        decisions
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
