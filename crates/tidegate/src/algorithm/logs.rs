//! Where the logs of rolling windows are kept: their states' words only name them.

use super::rolling_window::Log;
use super::{first, put};

/// The logs of many keys, each named by a number above zero. With no logs it is one word.
#[derive(Debug, Default)]
pub(crate) struct Logs(Option<Box<Named>>);

#[derive(Debug, Default)]
struct Named {
    logs: Vec<Log>,
    /// Names to be given again.
    free: Vec<u32>,
}

/// What zero names.
static EMPTY: Log = Log::EMPTY;

impl Logs {
    /// Words that a name takes.
    pub(super) const WORDS: usize = 1;

    /// The log that these words name; an empty one for none.
    pub(super) fn log(&self, words: &[u64]) -> &Log {
        let named = place(words).zip(self.0.as_ref());
        named.and_then(|(place, named)| named.logs.get(place)).unwrap_or(&EMPTY)
    }

    /// The log that these words name; for none, a new one that they name from now on.
    pub(super) fn log_mut(&mut self, words: &mut [u64]) -> &mut Log {
        let named = self.0.get_or_insert_default();
        let place = place(words).unwrap_or_else(|| named.keep(words, Log::EMPTY));
        &mut named.logs[place]
    }

    /// Has words that name nothing name a copy of the log that `from` names in `others`.
    pub(crate) fn copy(&mut self, words: &mut [u64], others: &Logs, from: &[u64]) {
        if place(from).is_some() {
            let copy = others.log(from).clone();
            self.0.get_or_insert_default().keep(words, copy);
        }
    }

    /// Forgets the log that these words name.
    pub(crate) fn forget(&mut self, words: &mut [u64]) {
        let (Some(place), Some(named)) = (place(words), self.0.as_mut()) else {
            return;
        };
        put(words, [0]);
        if let (Some(log), Ok(name)) = (named.logs.get_mut(place), u32::try_from(place)) {
            *log = Log::EMPTY;
            named.free.push(name);
        }
        if named.free.len() == named.logs.len() {
            self.0 = None;
        }
    }
}

impl Named {
    /// Keeps a log, has the words name it, and gives its place.
    fn keep(&mut self, words: &mut [u64], log: Log) -> usize {
        let free = self.free.pop().and_then(|place| usize::try_from(place).ok());
        let place = free.unwrap_or(self.logs.len());
        match self.logs.get_mut(place) {
            Some(kept) => *kept = log,
            None => self.logs.push(log),
        }
        put(words, [u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1)]);
        place
    }
}

/// The place that these words name.
fn place(words: &[u64]) -> Option<usize> {
    let [after] = first::<1>(words);
    after.checked_sub(1).and_then(|place| usize::try_from(place).ok())
}
