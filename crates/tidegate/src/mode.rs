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
    /// Whether a request for `cost` is charged, given whether it passes.
    pub(crate) fn charges(self, cost: u64, passes: bool) -> bool {
        cost > 0 && (self == Mode::Debit || (self == Mode::Take && passes))
    }
}
