//! A queue in one block that grows by an eighth, and gives memory back.
//!
//! The standard one doubles, which leaves up to half of a long log unused, and takes several times as
//! long to drop its first entries.

/// A queue of plain numbers, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    /// The entries and unused room, from some place on around its end.
    block: Vec<T>,
    /// Where the oldest is; below the block's length, or zero.
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// A queue of nothing, which takes no memory.
    pub(super) const EMPTY: Ring<T> = Ring { block: Vec::new(), head: 0, len: 0 };

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there is room for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.block.capacity()
    }

    /// Where in the block the entry at this place is.
    #[inline]
    fn index(&self, place: usize) -> usize {
        let index = self.head + place;
        if index >= self.block.len() { index - self.block.len() } else { index }
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<T> {
        if place >= self.len {
            return None;
        }
        self.block.get(self.index(place)).copied()
    }

    #[inline]
    pub(super) fn last(&self) -> Option<T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// The entries in two runs, of which the second may be empty.
    pub(super) fn runs(&self) -> (&[T], &[T]) {
        let first = self.len.min(self.block.len() - self.head);
        (&self.block[self.head..][..first], &self.block[..self.len - first])
    }

    /// The entries, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let (first, second) = self.runs();
        first.iter().chain(second).copied()
    }

    /// How many of the first hold, given that all after the first that does not do not either.
    pub(super) fn partition_point(&self, holds: impl Fn(T) -> bool) -> usize {
        let (first, second) = self.runs();
        match first.partition_point(|entry| holds(*entry)) {
            place if place == first.len() => place + second.partition_point(|entry| holds(*entry)),
            place => place,
        }
    }

    #[inline]
    pub(super) fn set(&mut self, place: usize, entry: T) {
        if place >= self.len {
            return;
        }
        let index = self.index(place);
        if let Some(kept) = self.block.get_mut(index) {
            *kept = entry;
        }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        if self.len == self.block.len() {
            self.move_to(self.len + (self.len / 8).max(4));
        }
        self.len += 1;
        self.set(self.len - 1, entry);
    }

    /// Pushes zeros until there are so many.
    pub(super) fn fill_up(&mut self, len: usize) {
        if self.len < len && self.block.len() <= len {
            self.move_to(len + len / 8 + 4);
        }
        while self.len < len {
            self.push(T::default());
        }
    }

    /// Drops the first so many, and memory of which more than half is unused, but never the little
    /// that a short queue comes back to.
    #[inline]
    pub(super) fn drop_first(&mut self, count: usize) {
        let count = count.min(self.len);
        self.head = self.index(count);
        self.len -= count;
        if self.block.len() > 2 * self.len + 16 {
            self.move_to(self.len + self.len / 8 + 4);
        }
    }

    /// Keeps the first so many.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Removes the entry at this place.
    pub(super) fn remove(&mut self, place: usize) {
        if place >= self.len {
            return;
        }
        for later in place + 1..self.len {
            let entry = self.block[self.index(later)];
            self.set(later - 1, entry);
        }
        self.len -= 1;
    }

    /// Moves everything to a block of this length.
    #[cold]
    pub(super) fn move_to(&mut self, capacity: usize) {
        let mut block = Vec::with_capacity(capacity);
        let (first, second) = self.runs();
        block.extend_from_slice(first);
        block.extend_from_slice(second);
        block.resize(capacity, T::default());
        (self.block, self.head) = (block, 0);
    }
}
