//! The memory store answers what the exact model answers.

use proptest::prelude::*;
use tidegate_testkit::{MemoryRig, scenario};

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// P53: any limits, costs, modes and times, also with the clock set back.
    #[test]
    fn memory_agrees_with_the_model(scenario in scenario::any(1..40)) {
        if let Err(difference) = scenario.play(&MemoryRig::new(), "random") {
            return Err(TestCaseError::fail(difference));
        }
    }
}
