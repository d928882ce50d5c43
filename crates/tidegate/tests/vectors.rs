//! Facts from other limiters, replayed on the memory store and through the notation of limits.

use serde_json::Value;
use tidegate::{Amount, Quota, Span};
use tidegate_testkit::{MemoryRig, vectors};

#[test]
fn memory_agrees_with_the_vectors() {
    let report = vectors::play(&MemoryRig::new(), &vectors::directory());
    println!("{report}");
    report.assert_holds();
}

/// The table of one notation.
fn notation(dialect: &str) -> Value {
    let text = include_str!("../../tidegate-testkit/vectors/limit_notation.json");
    let mut file: Value = serde_json::from_str(text).expect("the table is JSON");
    file[dialect].take()
}

/// Checks that every text of a table means what it says there, and that every bad one is refused.
fn assert_notation(dialect: &str) {
    let table = notation(dialect);
    let mut played = 0;
    for case in table["ok"].as_array().expect("a list of texts") {
        let text = case["in"].as_str().expect("a text");
        if text.contains("year") {
            // 360 days at the source; a year is 365 days here.
            let year = Quota::parse_list(text).expect(text)[0].period();
            assert_eq!(year, Span::from_secs(365 * 86_400));
            continue;
        }
        let quotas = Quota::parse_list(text).expect(text);
        let wanted = case["out"].as_array().expect("pairs");
        assert_eq!(quotas.len(), wanted.len(), "{text}");
        for (quota, pair) in quotas.iter().zip(wanted) {
            let number = |place: usize| pair[place].as_u64().expect("a whole number");
            assert_eq!(quota.count(), Amount::from_units(number(0)), "{text}");
            assert_eq!(quota.period(), Span::from_secs(number(1)), "{text}");
            assert_eq!(quota.burst(), quota.count(), "{text}");
        }
        played += 1;
    }
    for bad in table["bad"].as_array().expect("a list of texts") {
        let text = bad.as_str().unwrap_or_default();
        assert!(Quota::parse_list(text).is_err(), "{text:?}");
    }
    assert!(played > 3, "{dialect} has a table");
}

#[test]
fn limits_are_read_as_python_limits_writes_them() {
    assert_notation("python_limits");
}

#[test]
fn limits_are_read_as_ulule_writes_them() {
    assert_notation("ulule");
}
