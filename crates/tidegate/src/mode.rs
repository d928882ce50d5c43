//! What a request does to a key's state.

/// What a check does to the state.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Check, Key, Limit, MemoryStore, Mode, Policy};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "5/s")?])?;
/// let store = MemoryStore::new();
/// let check = Check::take(Key::new("alice")?, &policy, Amount::from_units(5));
/// assert!(store.take_one(&check.with_mode(Mode::Peek)).is_allowed());
/// assert!(store.take_one(&check.with_mode(Mode::Take)).is_allowed());
/// assert!(!store.take_one(&check.with_mode(Mode::Peek)).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Takes the cost when every limit allows it; a denial changes nothing.
    #[default]
    Take,
    /// Changes nothing; the outcome is what a take of the cost would get.
    Peek,
    /// Always takes the cost, even below zero, at most one full limit deep. The outcome is what a
    /// take would have got.
    Debit,
}

impl Mode {
    /// What becomes of a request for `cost`, given whether it passes.
    #[inline]
    pub(crate) fn fate(self, cost: u64, passes: bool) -> Fate {
        match self {
            _ if cost == 0 => Fate::Seen,
            Mode::Peek => Fate::Seen,
            Mode::Debit => Fate::Charged,
            Mode::Take if passes => Fate::Charged,
            Mode::Take => Fate::Refused,
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its cost is taken.
    Charged,
    /// It takes nothing; a state that the clock stepped back behind is stamped anew.
    Refused,
    /// It only looked.
    Seen,
}
