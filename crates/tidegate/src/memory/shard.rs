//! One shard of the table: the keys under one lock.

use super::flat::{At, Flat, Life};
use crate::algorithm::Logs;
use crate::layout::Slot;
use crate::policy::Policy;
use crate::time::{Span, Timestamp};

/// The keys of one shard. It fills one cache line together with its lock.
#[derive(Debug)]
pub(super) struct Shard {
    /// Keys whose states are as large as the first key's: all of them where every policy's are.
    main: Flat,
    /// Keys of other sizes, by size.
    #[allow(clippy::box_collection, reason = "a vector's own three words would cross the line")]
    others: Option<Box<Vec<Flat>>>,
    logs: Logs,
    /// No entry is back to full before this.
    earliest: Timestamp,
}

/// A key's entry, found.
pub(super) struct Entry<'a> {
    words: &'a mut [u64],
    /// What its states may name.
    pub(super) logs: &'a mut Logs,
    earliest: &'a mut Timestamp,
}

impl Entry<'_> {
    /// Its states.
    #[inline]
    pub(super) fn states_mut(&mut self) -> &mut [u64] {
        Flat::states_of(self.words)
    }

    /// Its states, and the logs that they may name.
    #[inline]
    pub(super) fn parts_mut(&mut self) -> (&mut [u64], &mut Logs) {
        (Flat::states_of(self.words), self.logs)
    }

    /// Says when an entry of this policy is back to full.
    #[inline]
    pub(super) fn set_full_at(&mut self, policy: &Policy, full_at: Timestamp) {
        let life = Life::new(full_at, policy.layout());
        Flat::set_life_of(self.words, life);
        *self.earliest = (*self.earliest).min(life.full_at());
    }
}

/// Where a key's entry is: in which of the shard's tables, 0 being the main one, and where there.
#[derive(Clone, Copy, Debug)]
struct Place {
    table: usize,
    at: At,
}

impl Shard {
    pub(super) fn empty() -> Shard {
        let (main, logs) = (Flat::for_states(2), Logs::default());
        Shard { main, others: None, logs, earliest: Timestamp::from_nanos(u64::MAX) }
    }

    /// This key's entry, its states in the order of the policy.
    pub(super) fn entry(
        &mut self,
        policy: &Policy,
        hash: u64,
        now: Timestamp,
    ) -> Option<Entry<'_>> {
        let place = self.locate(policy, hash, now)?;
        let flat = match (place.table, &mut self.others) {
            (0, _) | (_, None) => &mut self.main,
            (table, Some(others)) => &mut others[table - 1],
        };
        let words = flat.entry_mut(place.at);
        Some(Entry { words, logs: &mut self.logs, earliest: &mut self.earliest })
    }

    /// The entries of most keys.
    pub(super) fn main(&self) -> &Flat {
        &self.main
    }

    /// The same where it is among the smallest entries, as most are, and these are the shard's main ones.
    #[inline(always)]
    pub(super) fn small_entry(&mut self, policy: &Policy, hash: u64) -> Option<Entry<'_>> {
        let words = self.main.small_entry(hash)?;
        (Life::of(words).layout() == policy.layout()).then_some(Entry {
            words,
            logs: &mut self.logs,
            earliest: &mut self.earliest,
        })
    }

    fn locate(&mut self, policy: &Policy, hash: u64, now: Timestamp) -> Option<Place> {
        if self.main.holds(policy.words())
            && let Some(at) = self.main.find(hash)
            && self.main.life(at).layout() == policy.layout()
        {
            return Some(Place { table: 0, at });
        }
        self.locate_elsewhere(policy, hash, now)
    }

    /// Where the entry is when it is not among those of most keys as it should be.
    fn locate_elsewhere(&mut self, policy: &Policy, hash: u64, now: Timestamp) -> Option<Place> {
        let table = self.table_for(policy);
        let at = table.and_then(|table| self.flat(table).find(hash));
        match (table, at) {
            (Some(table), Some(at)) if self.flat(table).life(at).layout() == policy.layout() => {
                Some(Place { table, at })
            }
            // It was looked for in the only table there is.
            (Some(_), None) if self.others.is_none() => None,
            (None, _) if self.main.len() == 0 && self.others.is_none() => None,
            _ => self.relocate(policy, hash, now),
        }
    }

    /// The logs that states of this shard may name.
    pub(super) fn logs_mut(&mut self) -> &mut Logs {
        &mut self.logs
    }

    /// Adds an entry for a key that has none, and says how many that were back to full it dropped to
    /// make room.
    pub(super) fn insert(
        &mut self,
        policy: &Policy,
        hash: u64,
        states: &[u64],
        full_at: Timestamp,
        now: Timestamp,
    ) -> usize {
        let table = self.table_for(policy).unwrap_or_else(|| self.add_table(policy));
        let mut dropped = 0;
        if self.flat(table).is_full() {
            dropped = self.drop_full(table, now);
            // Dropping may have made no room at the crowded place.
            if self.flat(table).is_full() {
                self.flat_mut(table).rebuild();
            }
        }
        let life = Life::new(full_at, policy.layout());
        self.flat_mut(table).insert(hash, life, states);
        self.earliest = self.earliest.min(life.full_at());
        dropped
    }

    /// Forgets a key, and says whether it was there.
    pub(super) fn remove(&mut self, policy: &Policy, hash: u64, now: Timestamp) -> bool {
        let Some(place) = self.locate(policy, hash, now) else { return false };
        let (mut states, slots) =
            (self.flat(place.table).states(place.at).to_vec(), policy.layout().slots());
        forget_logs(&slots, &mut states, &mut self.logs);
        self.flat_mut(place.table).remove(place.at);
        true
    }

    /// Drops what is back to full, gives memory back, and says how many entries were dropped.
    pub(super) fn sweep(&mut self, now: Timestamp) -> usize {
        if self.earliest > now {
            return 0;
        }
        let dropped = (0..self.table_count()).map(|table| self.drop_full(table, now)).sum();
        let lives = (0..self.table_count()).flat_map(|table| {
            let flat = self.flat(table);
            flat.entries().map(|at| flat.life(at).full_at())
        });
        self.earliest = lives.min().unwrap_or(Timestamp::from_nanos(u64::MAX));
        dropped
    }

    /// Has everything be back to full sooner, by as much as the clock stepped back: what it takes to
    /// fill takes as long from where the clock is now.
    pub(super) fn step_back(&mut self, by: Span) {
        for table in 0..self.table_count() {
            let flat = self.flat_mut(table);
            let places: Vec<At> = flat.entries().collect();
            for at in places {
                let life = flat.life(at);
                flat.set_life(at, Life::new(life.full_at() - by, life.layout()));
            }
        }
        self.earliest = self.earliest - by;
    }

    /// The time until something here may be back to full, if it is known.
    pub(super) fn room_after(&self, now: Timestamp) -> Option<Span> {
        let known = self.earliest > now && self.main.len() > 0;
        known.then(|| self.earliest.since(now))
    }

    /// Rebuilds one table without what is back to full.
    fn drop_full(&mut self, table: usize, now: Timestamp) -> usize {
        let before = self.flat(table).len();
        let mut logs = std::mem::take(&mut self.logs);
        self.flat_mut(table).retain(|life, states| {
            let keep = life.full_at() > now;
            if !keep && life.layout().has_logs() {
                forget_logs(&life.layout().slots(), &mut states.to_vec(), &mut logs);
            }
            keep
        });
        self.logs = logs;
        before - self.flat(table).len()
    }

    /// Finds a key's entry in whatever table and order its states are, and puts them into those of
    /// the policy. States of parts that the policy no longer has are dropped, and parts that it did
    /// not have before start full.
    #[cold]
    fn relocate(&mut self, policy: &Policy, hash: u64, now: Timestamp) -> Option<Place> {
        let found = (0..self.table_count())
            .find_map(|table| Some(Place { table, at: self.flat(table).find(hash)? }))?;
        let life = self.flat(found.table).life(found.at);
        let mut old = self.flat(found.table).states(found.at).to_vec();
        let mut new = vec![0; policy.words()];
        let mut offset = 0;
        for slot in life.layout().slots().iter() {
            let own = offset..offset + slot.words;
            offset += slot.words;
            if let Some(part) = policy.parts().iter().find(|part| part.slot == slot.id) {
                let states = &mut new[part.range()];
                states.copy_from_slice(&old[own.clone()]);
                if slot.scale != part.rule.scale() {
                    part.rule.convert(states, slot.scale);
                }
                old[own].fill(0);
            }
        }
        forget_logs(&life.layout().slots(), &mut old, &mut self.logs);
        self.flat_mut(found.table).remove(found.at);
        // It comes back at the pace of the numbers that it is now counted by.
        let resets = policy
            .parts()
            .iter()
            .map(|part| part.rule.reset_after(&new[part.range()], &self.logs, now));
        let full_at = now + resets.max().unwrap_or(Span::ZERO);
        self.insert(policy, hash, &new, full_at, Timestamp::EPOCH);
        let table = self.table_for(policy)?;
        Some(Place { table, at: self.flat(table).find(hash)? })
    }

    /// Which table holds keys of this policy's size, if there is one yet.
    fn table_for(&self, policy: &Policy) -> Option<usize> {
        let shift = Flat::shift_for(policy.words());
        if shift == self.main.shift() {
            return Some(0);
        }
        let place = self.others.as_ref()?.iter().position(|flat| flat.shift() == shift)?;
        Some(place + 1)
    }

    /// A table for keys of this policy's size, of which there is none yet.
    fn add_table(&mut self, policy: &Policy) -> usize {
        if self.main.len() == 0 {
            self.main = Flat::for_states(policy.words());
            return 0;
        }
        let others = self.others.get_or_insert_default();
        others.push(Flat::for_states(policy.words()));
        others.len()
    }

    fn table_count(&self) -> usize {
        1 + self.others.as_ref().map_or(0, |others| others.len())
    }

    /// The table of this number; there is always the main one.
    fn flat(&self, table: usize) -> &Flat {
        match (table, &self.others) {
            (0, _) | (_, None) => &self.main,
            (table, Some(others)) => &others[table - 1],
        }
    }

    fn flat_mut(&mut self, table: usize) -> &mut Flat {
        match (table, &mut self.others) {
            (0, _) | (_, None) => &mut self.main,
            (table, Some(others)) => &mut others[table - 1],
        }
    }
}

/// Forgets the logs that states name, given the slots of their layout.
fn forget_logs(slots: &[Slot], states: &mut [u64], logs: &mut Logs) {
    let mut offset = 0;
    for slot in slots {
        if slot.is_log {
            logs.forget(&mut states[offset..]);
        }
        offset += slot.words;
    }
}
