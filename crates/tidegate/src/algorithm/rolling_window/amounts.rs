//! The amounts in a log: one number while they are all the same, as they mostly are.

use super::ring::Ring;

/// The amounts of a log's entries, oldest first. The log knows how many there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Amounts {
    /// What each of them is, unless they differ.
    same: u64,
    each: Option<Box<Each>>,
}

/// Amounts that differ. In four bytes each as long as they are below 2^32, which is 4294 units.
#[derive(Clone, Debug, Default)]
pub(super) struct Each {
    sum: u64,
    low: Ring<u32>,
    /// The high halves; none while all are zero.
    high: Ring<u32>,
}

impl Amounts {
    /// The amounts of no entries.
    pub(super) const NONE: Amounts = Amounts { same: 0, each: None };

    /// What `len` entries, which are all, hold.
    pub(super) fn sum(&self, len: usize) -> u64 {
        self.each.as_ref().map_or_else(|| times(self.same, len), |each| each.sum)
    }

    /// What the first `count` entries hold.
    pub(super) fn sum_of_first(&self, count: usize) -> u64 {
        match &self.each {
            _ if count == 0 => 0,
            None => times(self.same, count),
            Some(each) => each.sum_of_first(count),
        }
    }

    /// The place of the entry with which those from `from` on reach `amount`, which they do.
    pub(super) fn reaching(&self, from: usize, amount: u64) -> usize {
        match &self.each {
            None => {
                let before = amount.saturating_sub(1) / self.same.max(1);
                from.saturating_add(usize::try_from(before).unwrap_or(usize::MAX))
            }
            Some(each) => each.reaching(from, amount),
        }
    }

    /// The amount at a place that there is.
    pub(super) fn get(&self, place: usize) -> u64 {
        self.each.as_ref().map_or(self.same, |each| each.get(place))
    }

    /// Adds one after the `len` that there are.
    pub(super) fn push(&mut self, amount: u64, len: usize) {
        if len == 0 {
            self.same = amount;
        } else if self.each.is_some() || amount != self.same {
            self.apart(len).push(amount);
        }
    }

    /// Sets the amount at a place, one of `len`.
    pub(super) fn set(&mut self, place: usize, amount: u64, len: usize) {
        if len == 1 {
            *self = Amounts { same: amount, each: None };
        } else if self.each.is_some() || amount != self.same {
            self.apart(len).set(place, amount);
        }
    }

    /// Removes the amount at a place, which leaves `left`.
    pub(super) fn remove(&mut self, place: usize, left: usize) {
        if let Some(each) = &mut self.each {
            each.remove(place);
        }
        self.rest(left);
    }

    /// Keeps the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(each) = &mut self.each {
            each.truncate(len);
        }
        self.rest(len);
    }

    /// Drops the first `count`, which leaves `left`.
    pub(super) fn drop_first(&mut self, count: usize, left: usize) {
        if let Some(each) = &mut self.each {
            each.drop_first(count);
        }
        self.rest(left);
    }

    /// How much memory they take.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.each.as_ref().map_or(0, |each| 4 * (each.low.capacity() + each.high.capacity()))
    }

    /// With nothing left they are all the same again.
    fn rest(&mut self, left: usize) {
        if left == 0 {
            self.each = None;
        }
    }

    /// The `len` that there are, each by itself from now on.
    fn apart(&mut self, len: usize) -> &mut Each {
        let same = self.same;
        self.each.get_or_insert_with(|| Box::new(Each::of(same, len)))
    }
}

/// So many times an amount. A log never holds more than 2^53.
fn times(amount: u64, count: usize) -> u64 {
    amount * count as u64
}

impl Each {
    /// So many of the same.
    fn of(amount: u64, len: usize) -> Each {
        let mut each = Each::default();
        each.low.move_to(len + len / 8 + 4);
        (0..len).for_each(|_| each.push(amount));
        each
    }

    fn get(&self, place: usize) -> u64 {
        let half = |ring: &Ring<u32>| ring.get(place).map_or(0, u64::from);
        half(&self.low) | half(&self.high) << 32
    }

    fn sum_of_first(&self, count: usize) -> u64 {
        let half = |ring: &Ring<u32>| ring.iter().take(count).map(u64::from).sum::<u64>();
        half(&self.low) + (half(&self.high) << 32)
    }

    fn reaching(&self, from: usize, amount: u64) -> usize {
        let (mut place, mut left) = (from, amount.saturating_sub(self.get(from)));
        while left > 0 && place + 1 < self.low.len() {
            place += 1;
            left = left.saturating_sub(self.get(place));
        }
        place
    }

    fn push(&mut self, amount: u64) {
        let (low, high) = halves(amount);
        if high > 0 || !self.high.is_empty() {
            self.high.fill_up(self.low.len());
            self.high.push(high);
        }
        self.low.push(low);
        self.sum += amount;
    }

    fn set(&mut self, place: usize, amount: u64) {
        self.sum = self.sum - self.get(place) + amount;
        let (low, high) = halves(amount);
        if high > 0 {
            self.high.fill_up(self.low.len());
        }
        self.low.set(place, low);
        self.high.set(place, high);
    }

    fn remove(&mut self, place: usize) {
        self.sum -= self.get(place);
        self.low.remove(place);
        self.high.remove(place);
    }

    fn truncate(&mut self, len: usize) {
        self.sum = self.sum_of_first(len);
        self.low.truncate(len);
        self.high.truncate(len);
    }

    fn drop_first(&mut self, count: usize) {
        self.sum -= self.sum_of_first(count);
        self.low.drop_first(count);
        self.high.drop_first(count);
    }
}

/// The low and the high 32 bits.
fn halves(amount: u64) -> (u32, u32) {
    let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap_or(u32::MAX);
    (half(amount), half(amount >> 32))
}
