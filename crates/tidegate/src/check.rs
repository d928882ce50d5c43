//! What a caller asks of a store.

use crate::amount::Cost;
use crate::key::Key;
use crate::mode::Mode;
use crate::policy::Policy;

/// One question to a store: may this key spend this cost under this policy?
///
/// # Examples
///
/// ```
/// use tidegate::{Check, Cost, Key, Limit, Mode, Policy};
///
/// let policy = Policy::new("api", [Limit::quota("burst", "5/s")?])?;
/// let check = Check::take(Key::new("alice")?, &policy, Cost::ONE);
/// assert_eq!(check.mode, Mode::Take);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Who asks.
    pub key: Key<'a>,
    /// The limits that must all allow.
    pub policy: &'a Policy,
    /// How much is asked. Zero asks nothing and takes nothing, whatever the mode.
    pub cost: Cost,
    /// What happens to the state.
    pub mode: Mode,
}

impl<'a> Check<'a> {
    /// Asks for `cost` and takes it when allowed.
    #[must_use]
    pub fn take(key: Key<'a>, policy: &'a Policy, cost: Cost) -> Check<'a> {
        Check { key, policy, cost, mode: Mode::Take }
    }

    /// Asks what `cost` would get and takes nothing.
    #[must_use]
    pub fn peek(key: Key<'a>, policy: &'a Policy, cost: Cost) -> Check<'a> {
        Check { key, policy, cost, mode: Mode::Peek }
    }

    /// Charges `cost` whatever is left, down to one full limit below zero.
    #[must_use]
    pub fn debit(key: Key<'a>, policy: &'a Policy, cost: Cost) -> Check<'a> {
        Check { key, policy, cost, mode: Mode::Debit }
    }

    /// The same question in another mode.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Check<'a> {
        Check { mode, ..self }
    }
}
