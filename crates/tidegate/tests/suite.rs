//! The memory store shows every behaviour that a store must show.

use tidegate_testkit::{MemoryRig, suite};

#[test]
fn memory_shows_every_behaviour() {
    suite::run(&MemoryRig::new());
}
