//! What the table holds of one key under one policy.

use crate::algorithm::State;
use crate::policy::Part;
use crate::time::Timestamp;

/// A key's states, under the hash that stands for policy and key.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) hash: u64,
    /// When every state is back to full and the entry equals none.
    pub(super) full_at: Timestamp,
    pub(super) slots: Slots,
}

/// The state of one part of a policy.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    id: u64,
    pub(super) state: State,
}

/// A key's states; one needs no allocation.
#[derive(Clone, Debug)]
pub(super) enum Slots {
    One(Slot),
    Many(Vec<Slot>),
}

impl Slots {
    /// The states of a key never seen.
    pub(super) fn fresh(parts: &[Part]) -> Slots {
        Slots::collect(parts.iter().map(|part| part.rule.fresh()), parts)
    }

    /// These states, one for each part.
    pub(super) fn collect(states: impl Iterator<Item = State>, parts: &[Part]) -> Slots {
        let mut slots = states.zip(parts).map(|(state, part)| Slot {
            id: part.slot,
            state,
        });
        match (slots.next(), parts.len()) {
            (Some(only), 1) => Slots::One(only),
            (first, _) => Slots::Many(first.into_iter().chain(slots).collect()),
        }
    }

    /// The states of these parts, in their order. States of parts that the policy no longer has are
    /// dropped, and parts that it did not have before start full.
    pub(super) fn align(&mut self, parts: &[Part]) -> &mut [Slot] {
        if !self.is_aligned(parts) {
            let old = std::mem::replace(self, Slots::Many(Vec::new()));
            let mut old = old.into_vec();
            let states = parts.iter().map(|part| {
                let place = old.iter().position(|slot| slot.id == part.slot);
                place.map_or_else(|| part.rule.fresh(), |place| old.swap_remove(place).state)
            });
            let states: Vec<State> = states.collect();
            *self = Slots::collect(states.into_iter(), parts);
        }
        match self {
            Slots::One(slot) => std::slice::from_mut(slot),
            Slots::Many(slots) => slots,
        }
    }

    fn is_aligned(&self, parts: &[Part]) -> bool {
        match (self, parts) {
            (Slots::One(slot), [part]) => slot.id == part.slot,
            (Slots::One(_), _) => false,
            (Slots::Many(slots), parts) => {
                let ids = slots.iter().map(|slot| slot.id);
                ids.eq(parts.iter().map(|part| part.slot))
            }
        }
    }

    fn into_vec(self) -> Vec<Slot> {
        match self {
            Slots::One(slot) => vec![slot],
            Slots::Many(slots) => slots,
        }
    }
}
