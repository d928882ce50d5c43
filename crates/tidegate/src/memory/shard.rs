//! One shard of the table: the keys under one lock.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;

use super::entry::{Entry, Slots};
use crate::time::{Span, Timestamp};

/// The keys of one shard.
#[derive(Debug)]
pub(super) struct Shard {
    entries: HashTable<Entry>,
    /// No entry is back to full before this.
    earliest: Timestamp,
}

impl Shard {
    pub(super) const EMPTY: Shard = Shard {
        entries: HashTable::new(),
        earliest: Timestamp::from_nanos(u64::MAX),
    };

    /// Drops what is back to full, gives memory back, and says how many were dropped.
    pub(super) fn sweep(&mut self, now: Timestamp) -> usize {
        if self.earliest > now {
            return 0;
        }
        let before = self.entries.len();
        let mut earliest = Shard::EMPTY.earliest;
        self.entries.retain(|entry| {
            let keep = entry.full_at > now;
            if keep {
                earliest = earliest.min(entry.full_at);
            }
            keep
        });
        self.earliest = earliest;
        if self.entries.capacity() > 4 * self.entries.len() {
            self.entries
                .shrink_to(self.entries.len() * 2, |entry| entry.hash);
        }
        before - self.entries.len()
    }

    /// Takes a key's states out; they must be put back before the lock is let go.
    pub(super) fn take_out(&mut self, hash: u64) -> Option<Slots> {
        let entry = self.entries.find_mut(hash, |entry| entry.hash == hash)?;
        Some(std::mem::replace(&mut entry.slots, Slots::Many(Vec::new())))
    }

    /// Puts states back that were taken out; `full_at` is set when they were changed.
    pub(super) fn put_back(&mut self, hash: u64, slots: Slots, full_at: Option<Timestamp>) {
        if let Some(entry) = self.entries.find_mut(hash, |entry| entry.hash == hash) {
            entry.slots = slots;
            entry.full_at = full_at.unwrap_or(entry.full_at);
            self.earliest = self.earliest.min(entry.full_at);
        }
    }

    pub(super) fn insert(&mut self, hash: u64, slots: Slots, full_at: Timestamp) {
        let entry = Entry {
            hash,
            full_at,
            slots,
        };
        match self
            .entries
            .entry(hash, |entry| entry.hash == hash, |entry| entry.hash)
        {
            Place::Vacant(place) => {
                place.insert(entry);
            }
            Place::Occupied(mut place) => *place.get_mut() = entry,
        }
        self.earliest = self.earliest.min(full_at);
    }

    /// Forgets a key, and says whether it was there.
    pub(super) fn remove(&mut self, hash: u64) -> bool {
        match self.entries.find_entry(hash, |entry| entry.hash == hash) {
            Ok(entry) => {
                entry.remove();
                true
            }
            Err(_) => false,
        }
    }

    /// The time until something here may be back to full, if it is known.
    pub(super) fn room_after(&self, now: Timestamp) -> Option<Span> {
        let known = self.earliest > now && !self.entries.is_empty();
        known.then(|| self.earliest.since(now))
    }
}
