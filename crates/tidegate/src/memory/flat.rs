//! A table of entries of one size in one piece of memory.
//!
//! An entry is a power of two of words: the hash that stands for policy and key, its life, then the
//! states. Entries lie in the order of their hashes' low halves, as near to where the hash points as
//! those before them allow (linear probing, ordered as in Robin Hood hashing), so growing copies
//! from front to back and removing leaves no tombstones. A hash of zero marks a free place. The first
//! place begins a cache line, so that no entry of up to a line lies across two.

use crate::layout::Layout;
use crate::time::Timestamp;

/// Words before an entry's states.
const HEAD: usize = 2;
/// Places beyond the last that a hash points to, for entries pushed past it; more where that is not
/// enough.
const SLACK: usize = 16;
/// The fewest places that hashes point to, once there are any.
const PLACES_MIN: usize = 8;
/// Words of the smallest entries: one bucket, one fixed window, or one log.
const SMALL: usize = 4;
/// Words of a cache line.
const LINE: usize = 8;
/// Bits of an entry's life that name its layout; the rest is when it is back to full.
const LAYOUT_MASK: u64 = 0xffff;

/// Entries of one size.
#[derive(Debug)]
pub(super) struct Flat {
    words: Box<[u64]>,
    len: u32,
    /// How many places hashes point to.
    places: u32,
    /// The size of an entry, as a power of two of words.
    shift: u32,
    /// Words before the first place, so that it begins a cache line.
    base: u32,
}

/// Where an entry begins, in words.
pub(super) type At = usize;

/// When an entry is back to full, rounded up to 65.5 us, and the layout of its states.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life(u64);

impl Life {
    pub(super) fn new(full_at: Timestamp, layout: Layout) -> Life {
        let rounded = full_at.as_nanos().saturating_add(LAYOUT_MASK) & !LAYOUT_MASK;
        Life(rounded | u64::from(layout.number()))
    }

    /// That of an entry.
    #[inline]
    pub(super) fn of(entry: &[u64]) -> Life {
        Life(entry.get(1).copied().unwrap_or(0))
    }

    pub(super) fn full_at(self) -> Timestamp {
        Timestamp::from_nanos(self.0 & !LAYOUT_MASK)
    }

    pub(super) fn layout(self) -> Layout {
        Layout::from_number(u16::try_from(self.0 & LAYOUT_MASK).unwrap_or(0))
    }
}

impl Flat {
    /// A table of entries with room for this many words of states.
    pub(super) fn for_states(words: usize) -> Flat {
        Flat { words: Box::default(), len: 0, places: 0, shift: Flat::shift_for(words), base: 0 }
    }

    /// The size of the entries that hold this many words of states, as a power of two.
    pub(super) fn shift_for(states: usize) -> u32 {
        (states + HEAD).max(SMALL).next_power_of_two().trailing_zeros()
    }

    /// Whether an entry has room for this many words of states.
    #[inline]
    pub(super) fn holds(&self, states: usize) -> bool {
        states + HEAD <= self.size()
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Where the entry of this hash is.
    pub(super) fn find(&self, hash: u64) -> Option<At> {
        self.find_by(self.shift, hash)
    }

    /// The entry of this hash, if entries are of the smallest size: which is then known to the compiler.
    #[inline(always)]
    pub(super) fn small_entry(&mut self, hash: u64) -> Option<&mut [u64; SMALL]> {
        if self.shift != SMALL.trailing_zeros() {
            return None;
        }
        let at = self.find_by(SMALL.trailing_zeros(), hash)?;
        self.words.get_mut(at..)?.first_chunk_mut()
    }

    /// Where the entry of this hash is, given the table's own shift.
    #[inline(always)]
    fn find_by(&self, shift: u32, hash: u64) -> Option<At> {
        let mut at = self.base() + (point(hash, self.places()) << shift);
        loop {
            match self.words.get(at) {
                Some(&found) if found == hash => return Some(at),
                // Also when the table has no memory yet.
                Some(0) | None => return None,
                Some(_) => at += 1 << shift,
            }
        }
    }

    #[inline]
    pub(super) fn life(&self, at: At) -> Life {
        Life(self.words.get(at + 1).copied().unwrap_or(0))
    }

    pub(super) fn set_life(&mut self, at: At, life: Life) {
        Flat::set_life_of(self.entry_mut(at), life);
    }

    /// The states of the entry there.
    pub(super) fn states(&self, at: At) -> &[u64] {
        &self.words[at + HEAD..at + self.size()]
    }

    /// The entry there.
    #[inline]
    pub(super) fn entry_mut(&mut self, at: At) -> &mut [u64] {
        let size = self.size();
        &mut self.words[at..at + size]
    }

    /// The states in an entry.
    #[inline]
    pub(super) fn states_of(entry: &mut [u64]) -> &mut [u64] {
        entry.get_mut(HEAD..).unwrap_or_default()
    }

    /// Sets the life of an entry.
    #[inline]
    pub(super) fn set_life_of(entry: &mut [u64], life: Life) {
        if let Some(word) = entry.get_mut(1) {
            *word = life.0;
        }
    }

    /// Whether one more entry needs [`Flat::rebuild`] first.
    pub(super) fn is_full(&self) -> bool {
        let places = self.places();
        let last = self.end().checked_sub(self.size());
        self.len() + 1 > places - places / 4 || last.is_some_and(|last| self.words[last] != 0)
    }

    /// Adds an entry whose hash is not here. There must be room.
    pub(super) fn insert(&mut self, hash: u64, life: Life, states: &[u64]) {
        let size = self.size();
        let mut at = self.home(hash);
        while self.words[at] != 0 && order(self.words[at]) <= order(hash) {
            at += size;
        }
        let mut end = at;
        while self.words[end] != 0 {
            end += size;
        }
        self.words.copy_within(at..end, at + size);
        self.words[at] = hash;
        self.words[at + 1] = life.0;
        let own = Flat::states_of(&mut self.words[at..at + size]);
        own.fill(0);
        own.iter_mut().zip(states).for_each(|(own, word)| *own = *word);
        self.len += 1;
    }

    /// Removes the entry there; those behind it move up.
    pub(super) fn remove(&mut self, at: At) {
        let size = self.size();
        let mut end = at + size;
        let last = self.end();
        while end < last && self.words[end] != 0 && self.home(self.words[end]) < end {
            end += size;
        }
        self.words.copy_within(at + size..end, at);
        self.words[end - size..end].fill(0);
        self.len -= 1;
    }

    /// Where each entry is.
    pub(super) fn entries(&self) -> impl Iterator<Item = At> + '_ {
        let used = |at: &At| self.words[*at] != 0;
        (self.base()..self.end()).step_by(self.size()).filter(used)
    }

    /// Removes every entry that `keep` does not keep. When they are many, the rest moves into a new
    /// piece of memory.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Life, &[u64]) -> bool) {
        let (kept, dropped): (Vec<At>, Vec<At>) =
            self.entries().partition(|&at| keep(self.life(at), self.states(at)));
        if kept.is_empty() {
            (self.words, self.len, self.places, self.base) = (Box::default(), 0, 0, 0);
        } else if dropped.len() > kept.len() / 4 {
            self.move_out(&kept);
        } else {
            // From the back, since removing moves only what lies behind.
            dropped.iter().rev().for_each(|&at| self.remove(at));
        }
    }

    /// Moves every entry into a new piece of memory, with room for about a quarter as many more.
    pub(super) fn rebuild(&mut self) {
        let all: Vec<At> = self.entries().collect();
        self.move_out(&all);
    }

    /// Moves these entries, in order, into a new piece of memory.
    fn move_out(&mut self, kept: &[At]) {
        // At 3/5 full a table grows by a quarter before it is 3/4 full.
        let places = (kept.len() * 5 / 3).max(PLACES_MIN);
        let mut slack = SLACK;
        (self.words, self.base) = loop {
            match self.copied(kept, places, slack) {
                Some(copied) => break copied,
                None => slack *= 2,
            }
        };
        self.places = u32::try_from(places).unwrap_or(u32::MAX);
        self.len = u32::try_from(kept.len()).unwrap_or(u32::MAX);
    }

    /// These entries in a table with so many places, and where its first place begins; nothing when
    /// they do not fit before its end.
    fn copied(&self, kept: &[At], places: usize, slack: usize) -> Option<(Box<[u64]>, u32)> {
        let size = self.size();
        let length = (places + slack) << self.shift;
        let mut new = vec![0; length + LINE - 1].into_boxed_slice();
        let base = new.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE - 1);
        let mut next = base;
        for &at in kept {
            let entry = &self.words[at..at + size];
            let to = (base + (point(entry[0], places) << self.shift)).max(next);
            next = to + size;
            new[..base + length].get_mut(to..next)?.copy_from_slice(entry);
        }
        // The last place stays free: an insertion may push one entry into it.
        let base = u32::try_from(base).ok()?;
        (next < base as usize + length).then_some((new, base))
    }

    /// Where the entry of a hash would best be.
    fn home(&self, hash: u64) -> At {
        self.base() + (point(hash, self.places()) << self.shift)
    }

    /// Where its first place begins in memory.
    pub(super) fn address(&self) -> usize {
        self.words.as_ptr().addr() + self.base() * size_of::<u64>()
    }

    fn base(&self) -> At {
        self.base as usize
    }

    /// Where its last place ends.
    fn end(&self) -> At {
        self.base() + ((self.words.len() - self.base()) >> self.shift << self.shift)
    }

    /// How many places hashes point to.
    pub(super) fn places(&self) -> usize {
        self.places as usize
    }

    fn size(&self) -> usize {
        1 << self.shift
    }
}

/// The half of a hash that orders entries. The other half chooses the shard.
fn order(hash: u64) -> u64 {
    hash & 0xffff_ffff
}

/// Which of so many places a hash points to; a later hash in order never points before an earlier.
#[allow(clippy::cast_possible_truncation, reason = "the product's high half is below places")]
#[inline]
pub(super) fn point(hash: u64, places: usize) -> usize {
    ((order(hash) * places as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn life(secs: u64) -> Life {
        Life::new(Timestamp::from_secs(secs), Layout::from_number(7))
    }

    /// Hashes that crowd: few low halves, so runs are long and reach the end.
    fn hash() -> impl Strategy<Value = u64> {
        (
            1_u64..40,
            prop_oneof![0_u64..4, 0xffff_fff0_u64..0xffff_ffff, any::<u32>().prop_map(u64::from)],
        )
            .prop_map(|(high, low)| high << 32 | low)
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_would(
            steps in prop::collection::vec((hash(), 0_u8..4, 1_u64..100), 1..400),
            states in prop::sample::select(vec![1_usize, 2, 5]),
        ) {
            let mut flat = Flat::for_states(states);
            let mut map: HashMap<u64, u64> = HashMap::new();
            for (hash, step, value) in steps {
                match (step, flat.find(hash)) {
                    (0, Some(at)) => {
                        flat.remove(at);
                        map.remove(&hash);
                    }
                    (1, _) => {
                        flat.retain(|life, _| life.full_at() > Timestamp::from_secs(value));
                        // An entry's life is rounded up, so one of exactly `value` lives on.
                        map.retain(|_, full_at| *full_at >= value);
                    }
                    (_, Some(at)) => {
                        flat.set_life(at, life(value));
                        Flat::states_of(flat.entry_mut(at))[0] = value;
                        map.insert(hash, value);
                    }
                    (_, None) => {
                        if flat.is_full() {
                            flat.rebuild();
                        }
                        flat.insert(hash, life(value), &[value]);
                        map.insert(hash, value);
                    }
                }
                prop_assert_eq!(flat.len(), map.len());
                for (hash, value) in &map {
                    let at = flat.find(*hash).expect("what was put in is found");
                    prop_assert_eq!(flat.states(at)[0], *value);
                    prop_assert_eq!(flat.life(at).layout(), Layout::from_number(7));
                }
                prop_assert_eq!(flat.entries().count(), map.len());
            }
        }
    }
}
