//! Behaviours that every store must show, each a claim with a name.
//!
//! A claim is a small scene on keys of its own at times of its own; it panics where the store does
//! something else. [`run`] plays them all on one store.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::rig::Rig;

/// Names the claims of a file.
macro_rules! claims {
    ($($claim:ident),* $(,)?) => {
        /// The claims of this file.
        pub(super) fn claims<R: Rig>() -> Vec<Claim<R>> {
            vec![$(Claim { name: stringify!($claim), scene: $claim::<R> }),*]
        }
    };
}

mod bucket;
mod changes;
mod clock;
mod cost;
mod many;
mod operations;
mod spacing;
mod stage;
mod waits;
mod windows;

use stage::Stage;

/// A behaviour that a store must show.
pub struct Claim<R: Rig> {
    name: &'static str,
    scene: fn(&Stage<'_, R>),
}

impl<R: Rig> Claim<R> {
    /// What is claimed.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Plays the scene on fresh keys.
    ///
    /// # Panics
    ///
    /// When the store behaves otherwise.
    pub fn play(&self, rig: &R) {
        (self.scene)(&Stage::new(rig, self.name));
    }
}

/// Every claim.
#[must_use]
pub fn claims<R: Rig>() -> Vec<Claim<R>> {
    [
        bucket::claims(),
        windows::claims(),
        waits::claims(),
        cost::claims(),
        operations::claims(),
        many::claims(),
        spacing::claims(),
        clock::claims(),
        changes::claims(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Plays every claim on one store, whose keys must not have been used before.
///
/// # Panics
///
/// When a claim fails: with the names of all that do.
///
/// # Examples
///
/// ```
/// use tidegate_testkit::{MemoryRig, suite};
///
/// suite::run(&MemoryRig::new());
/// ```
pub fn run<R: Rig>(rig: &R) {
    let failed: Vec<&str> = claims()
        .iter()
        .filter(|claim| catch_unwind(AssertUnwindSafe(|| claim.play(rig))).is_err())
        .map(Claim::name)
        .collect();
    assert!(failed.is_empty(), "the store fails these claims: {failed:#?}");
}
