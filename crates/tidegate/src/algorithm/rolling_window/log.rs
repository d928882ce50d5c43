//! The log of a rolling window: eight bytes for each instant, and amounts only where they differ.

use super::amounts::Amounts;
use super::ring::Ring;
use crate::time::{Span, Timestamp};

/// What was taken within the last window: one entry an instant, oldest first, none of them zero.
///
/// It takes one line of the processor's cache.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Log {
    times: Ring<Timestamp>,
    amounts: Amounts,
}

impl Log {
    /// A log of nothing.
    pub(crate) const EMPTY: Log = Log { times: Ring::EMPTY, amounts: Amounts::NONE };

    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// When the newest entry was written.
    pub(super) fn newest(&self) -> Timestamp {
        self.times.last().unwrap_or(Timestamp::EPOCH)
    }

    /// When the entry at this place was written.
    pub(super) fn time(&self, place: usize) -> Option<Timestamp> {
        self.times.get(place)
    }

    /// All that it holds.
    pub(super) fn sum(&self) -> u64 {
        self.amounts.sum(self.times.len())
    }

    /// How many of the oldest entries no longer count at `at`.
    #[inline]
    pub(super) fn expired(&self, at: Timestamp, window: Span) -> usize {
        let expired = |time: Timestamp| time + window <= at;
        let [oldest, next] = [0, 1].map(|place| self.times.get(place).is_some_and(expired));
        // Mostly none or one: then no search is worth its while.
        if next { self.times.partition_point(expired) } else { usize::from(oldest) }
    }

    /// What all entries hold from this place on.
    pub(super) fn sum_from(&self, place: usize) -> u64 {
        self.sum() - self.amounts.sum_of_first(place)
    }

    /// The place of the entry with which those from `from` on reach `amount`, which they do hold.
    pub(super) fn reaching(&self, from: usize, amount: u64) -> usize {
        self.amounts.reaching(from, amount)
    }

    /// The newest entry that is no later than `time`.
    pub(super) fn newest_until(&self, time: Timestamp) -> Option<usize> {
        self.times.partition_point(|written| written <= time).checked_sub(1)
    }

    /// Adds to the entry at `time`, which is no earlier than any other.
    #[inline]
    pub(super) fn add(&mut self, time: Timestamp, amount: u64) {
        let len = self.times.len();
        if self.times.last() == Some(time) {
            let merged = self.amounts.get(len - 1) + amount;
            self.amounts.set(len - 1, merged, len);
        } else {
            self.times.push(time);
            self.amounts.push(amount, len);
        }
    }

    /// Takes up to `amount` from the entry at this place.
    pub(super) fn take_from(&mut self, place: usize, amount: u64) {
        let held = self.amounts.get(place);
        if amount < held {
            self.amounts.set(place, held - amount, self.times.len());
        } else {
            self.times.remove(place);
            self.amounts.remove(place, self.times.len());
        }
    }

    /// Takes `amount`, which is no more than the sum, from the oldest entries.
    pub(super) fn drop_oldest(&mut self, amount: u64) {
        let mut left = amount;
        while left > 0 && !self.is_empty() {
            let oldest = self.amounts.get(0);
            self.take_from(0, left);
            left = left.saturating_sub(oldest);
        }
    }

    /// Stamps everything later than `now` with `now`.
    #[inline]
    pub(super) fn pull_back(&mut self, now: Timestamp) {
        if self.newest() > now {
            self.merge_later(now);
        }
    }

    #[cold]
    fn merge_later(&mut self, now: Timestamp) {
        let kept = self.times.partition_point(|time| time <= now);
        let pulled = self.sum_from(kept);
        self.times.truncate(kept);
        self.amounts.truncate(kept);
        self.add(now, pulled);
    }

    /// Drops so many of the oldest entries, and memory that is no longer needed.
    #[inline]
    pub(super) fn drop_first(&mut self, count: usize) {
        if count > 0 {
            self.times.drop_first(count);
            self.amounts.drop_first(count, self.times.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by a plain list.
    #[derive(Default)]
    struct Plain(Vec<(Timestamp, u64)>);

    impl Plain {
        fn add(&mut self, time: Timestamp, amount: u64) {
            match self.0.last_mut() {
                Some(last) if last.0 == time => last.1 += amount,
                _ => self.0.push((time, amount)),
            }
        }

        fn pull_back(&mut self, now: Timestamp) {
            let (kept, later): (Vec<_>, Vec<_>) = self.0.iter().partition(|entry| entry.0 <= now);
            self.0 = kept;
            later.into_iter().for_each(|(_, amount)| self.add(now, amount));
        }

        fn drop_oldest(&mut self, mut amount: u64) {
            for entry in &mut self.0 {
                let taken = entry.1.min(amount);
                (entry.1, amount) = (entry.1 - taken, amount - taken);
            }
            self.0.retain(|entry| entry.1 > 0);
        }

        fn sum(&self) -> u64 {
            self.0.iter().map(|entry| entry.1).sum()
        }
    }

    impl Log {
        fn entries(&self) -> Vec<(Timestamp, u64)> {
            let amounts = (0..self.times.len()).map(|place| self.amounts.get(place));
            self.times.iter().zip(amounts).collect()
        }

        fn bytes(&self) -> usize {
            8 * self.times.capacity() + self.amounts.bytes()
        }
    }

    const WINDOW: Span = Span::from_nanos(60);

    /// What is done to a log, and how much of it.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(u64, u64),
        Expire(u64),
        PullBack(u64),
        DropOldest(u64),
        TakeFrom(usize, u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let amount = || prop_oneof![6 => Just(7_u64), 2 => 1_u64..20, 1 => 1_u64..1 << 40];
        let step = prop_oneof![
            9 => (0_u64..4, amount()).prop_map(|(later, amount)| Step::Add(later, amount)),
            3 => (0_u64..30).prop_map(Step::Expire),
            1 => (0_u64..30).prop_map(Step::PullBack),
            1 => amount().prop_map(Step::DropOldest),
            1 => (0_usize..40, amount()).prop_map(|(place, amount)| Step::TakeFrom(place, amount)),
        ];
        prop::collection::vec(step, 1..300)
    }

    proptest! {
        /// Whatever is done to it, the log holds what a plain list holds.
        #[test]
        fn log_is_a_list_of_entries(steps in steps()) {
            let (mut log, mut plain, mut now) = (Log::EMPTY, Plain::default(), 1_000_u64);
            for step in steps {
                match step {
                    Step::Add(later, amount) => {
                        now += later;
                        log.add(Timestamp::from_nanos(now), amount);
                        plain.add(Timestamp::from_nanos(now), amount);
                    }
                    Step::Expire(later) => {
                        let at = Timestamp::from_nanos(now + later);
                        log.drop_first(log.expired(at, WINDOW));
                        plain.0.retain(|entry| entry.0 + WINDOW > at);
                    }
                    Step::PullBack(earlier) => {
                        now -= earlier;
                        log.pull_back(Timestamp::from_nanos(now));
                        plain.pull_back(Timestamp::from_nanos(now));
                    }
                    Step::DropOldest(amount) => {
                        log.drop_oldest(amount.min(plain.sum()));
                        plain.drop_oldest(amount.min(plain.sum()));
                    }
                    Step::TakeFrom(place, amount) if place < plain.0.len() => {
                        log.take_from(place, amount);
                        let entry = &mut plain.0[place];
                        entry.1 = entry.1.saturating_sub(amount);
                        plain.0.retain(|entry| entry.1 > 0);
                    }
                    Step::TakeFrom(..) => {}
                }
                prop_assert_eq!(log.entries(), plain.0.clone(), "after {:?}", step);
                prop_assert_eq!(log.sum(), plain.sum());
                for (place, until) in (0..plain.0.len()).map(|place| (place, &plain.0[..=place])) {
                    let sum = until.iter().map(|entry| entry.1).sum();
                    prop_assert_eq!(log.reaching(0, sum), place);
                    prop_assert_eq!(log.sum() - log.sum_from(place + 1), sum);
                    let expired = log.expired(until[place].0 + WINDOW, WINDOW);
                    prop_assert_eq!(expired, place + 1);
                }
            }
        }
    }

    /// A long log of requests of one cost takes nine bytes for each, one of different costs half as
    /// much again.
    #[test]
    fn request_remembered_takes_sixteen_bytes_at_most() {
        for (costs, bytes) in [([7, 7], 9), ([7, 4_294_967_295], 14)] {
            let mut log = Log::EMPTY;
            for n in 1_usize..=100_000 {
                log.add(Timestamp::from_nanos(n as u64), costs[n % 2]);
                if n >= 64 {
                    assert!(
                        log.bytes() <= bytes * n + 64,
                        "{n} of {costs:?}: {} bytes",
                        log.bytes()
                    );
                }
            }
            let last = Timestamp::from_nanos(100_000);
            log.drop_first(log.expired(last, Span::from_nanos(1_000)));
            assert_eq!(log.times.len(), 1_000);
            assert!(log.bytes() <= 16 * 1_000, "{} bytes after most expired", log.bytes());
            log.drop_first(log.expired(last, Span::ZERO));
            assert!(log.is_empty() && log.bytes() <= 16 * 16, "{} bytes at last", log.bytes());
        }
    }
}
