//! The hot paths, in the order in which they are walked.

use tidegate::{Amount, Limit};

use crate::subject::{HOUR, ROOMY, Subject, bucket, keys};

/// How often each path is walked, once for each of as many keys.
pub(crate) const WALKS: usize = 8_192;

/// A walk that is ready to begin.
pub(crate) type Walk = Box<dyn Fn()>;

/// One path: its name in the list of counts, and what goes before its walk.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn() -> Walk,
}

/// Every path.
pub(crate) const ALL: &[Path] = &[
    Path { name: "token_bucket", prepare: || known([bucket(ROOMY)]) },
    Path { name: "fixed_window", prepare: || known([fixed(ROOMY)]) },
    Path { name: "fixed_window_from_first", prepare: || known([from_first()]) },
    Path { name: "sliding_window", prepare: || known([sliding()]) },
    Path { name: "rolling_window_of_8", prepare: rolling_of_8 },
    Path { name: "rolling_window_of_8_denied", prepare: rolling_denied },
    Path { name: "token_bucket_denied", prepare: || denied(bucket(Amount::ONE)) },
    Path { name: "fixed_window_denied", prepare: || denied(fixed(Amount::ONE)) },
    Path { name: "two_limits", prepare: || known([bucket(ROOMY), fixed(ROOMY)]) },
    Path { name: "four_limits", prepare: four_limits },
    Path { name: "spaced", prepare: spaced },
    Path { name: "batch_of_16_per_check", prepare: batch },
    Path { name: "new_key", prepare: || new_key([bucket(ROOMY)]) },
    Path { name: "new_key_rolling_window", prepare: || new_key([rolling(ROOMY)]) },
    Path { name: "token_bucket_and_its_field", prepare: field },
];

fn fixed(max: Amount) -> Limit {
    Limit::fixed_window("fixed", max, HOUR).expect("a valid limit")
}

fn from_first() -> Limit {
    Limit::fixed_window_from_first("first", ROOMY, HOUR).expect("a valid limit")
}

fn sliding() -> Limit {
    Limit::sliding_window("sliding", ROOMY, HOUR).expect("a valid limit")
}

fn rolling(max: Amount) -> Limit {
    Limit::rolling_window("rolling", max, HOUR).expect("a valid limit")
}

/// Keys that were asked for before, twice, with time between.
fn known<const N: usize>(limits: [Limit; N]) -> Walk {
    let (subject, keys) = (Subject::new(limits), keys(WALKS));
    subject.ask_through_an_hour(&keys, 2);
    Box::new(move || subject.ask(&keys))
}

/// Keys that have used what they may.
fn denied(limit: Limit) -> Walk {
    let (subject, keys) = (Subject::new([limit]), keys(WALKS));
    subject.ask(&keys);
    Box::new(move || subject.ask(&keys))
}

fn four_limits() -> Walk {
    known([bucket(ROOMY), fixed(ROOMY), from_first(), sliding()])
}

/// A minimum spacing beside a limit; time has gone on since the keys were last asked for.
fn spaced() -> Walk {
    let spacing = tidegate::Span::from_secs(1);
    known([bucket(ROOMY).with_min_interval(spacing).expect("a valid spacing")])
}

/// Every key has asked eight times within the window, and the first of them is just over.
fn rolling_of_8() -> Walk {
    let (subject, keys) = (Subject::new([rolling(ROOMY)]), keys(WALKS));
    subject.ask_through_an_hour(&keys, 8);
    Box::new(move || subject.ask(&keys))
}

fn rolling_denied() -> Walk {
    let (subject, keys) = (Subject::new([rolling(Amount::from_units(8))]), keys(WALKS));
    (0..8).for_each(|_| subject.ask(&keys));
    Box::new(move || subject.ask(&keys))
}

fn batch() -> Walk {
    let (subject, keys) = (Subject::new([bucket(ROOMY)]), keys(WALKS));
    subject.ask(&keys);
    Box::new(move || subject.ask_by_sixteen(&keys))
}

/// Keys never seen, in a store that starts empty and grows.
fn new_key<const N: usize>(limits: [Limit; N]) -> Walk {
    let (subject, keys) = (Subject::new(limits), keys(WALKS));
    Box::new(move || subject.ask(&keys))
}

fn field() -> Walk {
    let (subject, keys) = (Subject::new([bucket(ROOMY)]), keys(WALKS));
    subject.ask(&keys);
    Box::new(move || subject.ask_and_write(&keys))
}
