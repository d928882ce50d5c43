//! Which states lie in a key's words: the parts of a policy, by a small number.
//!
//! A store keeps the number with each key's words, so that states are found again after a policy was
//! changed: limits added, removed, put in another order, or given another rate or window.

use std::sync::{Arc, PoisonError, RwLock};

/// One part as a layout knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// What the part is (see `policy.rs`).
    pub(crate) id: u64,
    /// How many words its state takes.
    pub(crate) words: usize,
    /// Whether they name a log.
    pub(crate) is_log: bool,
    /// In which fraction of a millionth their amounts are counted, as its denominator.
    pub(crate) scale: u64,
    /// How fast it comes back: a rate's numerator, or a window's nanoseconds.
    pub(crate) pace: u64,
}

/// The parts of a policy, in order, as a number that is the same for the same parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout(u16);

/// Set in the numbers of layouts that hold a log.
const HAS_LOGS: u16 = 1 << 15;

/// Every layout seen by this process. Layouts come from configured names, of which there are few. In
/// excess of 32,767 all others share one number that says nothing of its parts: states under it are
/// forgotten when their policy changes to another number.
static SEEN: RwLock<Vec<Arc<[Slot]>>> = RwLock::new(Vec::new());

impl Layout {
    /// The layout of these parts.
    pub(crate) fn of(slots: impl Iterator<Item = Slot>) -> Layout {
        let slots: Arc<[Slot]> = slots.collect();
        let logs = if slots.iter().any(|slot| slot.is_log) { HAS_LOGS } else { 0 };
        // A panic while it was held leaves the list as it was or one longer: both are right.
        let mut seen = SEEN.write().unwrap_or_else(PoisonError::into_inner);
        let place = seen.iter().position(|known| *known == slots).unwrap_or_else(|| {
            let place = seen.len();
            if place < usize::from(!HAS_LOGS) {
                seen.push(slots);
            }
            place
        });
        Layout(u16::try_from(place).unwrap_or(!HAS_LOGS) | logs)
    }

    /// The number.
    pub(crate) fn number(self) -> u16 {
        self.0
    }

    /// The layout of this number.
    pub(crate) fn from_number(number: u16) -> Layout {
        Layout(number)
    }

    /// Whether any of its parts is a log.
    pub(crate) fn has_logs(self) -> bool {
        self.0 & HAS_LOGS != 0
    }

    /// Its parts, in order.
    pub(crate) fn slots(self) -> Arc<[Slot]> {
        let seen = SEEN.read().unwrap_or_else(PoisonError::into_inner);
        seen.get(usize::from(self.0 & !HAS_LOGS)).cloned().unwrap_or_default()
    }
}
