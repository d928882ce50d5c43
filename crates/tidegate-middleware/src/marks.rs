//! The rate limit headers of an answer.

use std::cell::RefCell;
use std::mem;

use bytes::{Bytes, BytesMut};
use tidegate::{Decision, HeaderDialect, Policy};

/// A header that says something of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `RateLimit-Policy`: all limits.
    Policy,
    /// `RateLimit`: the limit that governs.
    State,
    /// `X-RateLimit-Limit`.
    LegacyLimit,
    /// `X-RateLimit-Remaining`.
    LegacyRemaining,
    /// `X-RateLimit-Reset`: seconds to wait.
    LegacyReset,
    /// `X-RateLimit-Degraded`: the store could not answer.
    Degraded,
    /// `Retry-After`: seconds to wait.
    RetryAfter,
}

impl Field {
    /// Its name, in lower case.
    #[inline]
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Field::Policy => "ratelimit-policy",
            Field::State => "ratelimit",
            Field::LegacyLimit => "x-ratelimit-limit",
            Field::LegacyRemaining => "x-ratelimit-remaining",
            Field::LegacyReset => "x-ratelimit-reset",
            Field::Degraded => "x-ratelimit-degraded",
            Field::RetryAfter => "retry-after",
        }
    }
}

/// The value of a header: visible ASCII and spaces only, and so always a valid one. Nobody else makes
/// any, so that a framework need not look through each again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldText(Bytes);

impl FieldText {
    /// Its bytes.
    #[inline]
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// A number in decimal digits.
    #[must_use]
    pub fn number(number: u64) -> FieldText {
        value(|text| write_number(number, text))
    }

    /// The first `len` bytes, which it has no longer then.
    fn split_to(&mut self, len: usize) -> FieldText {
        FieldText(self.0.split_to(len))
    }
}

/// The headers of an answer, in whatever type a framework keeps them.
pub trait Fields {
    /// Sets a header to one line.
    fn set(&mut self, field: Field, value: FieldText);

    /// Sets a header unless it is there already, and says whether it did.
    fn set_new(&mut self, field: Field, value: FieldText) -> bool;

    /// Adds a line to a header.
    fn add(&mut self, field: Field, value: FieldText);
}

/// What the answer to a request will say about its limits. It goes along with the request, so it is
/// small: all values in one piece, to be cut up when they are said.
#[derive(Debug, Default)]
pub struct Marks {
    values: Option<Values>,
    is_degraded: bool,
}

#[derive(Debug)]
struct Values {
    text: FieldText,
    /// Where the list of policies, the state, the limit and the remainder end; the rest is the reset.
    ends: [u32; 4],
    dialect: HeaderDialect,
}

impl Marks {
    /// That the store could not answer, and nothing else.
    #[must_use]
    pub fn degraded() -> Marks {
        Marks { values: None, is_degraded: true }
    }

    /// Whether the store could not answer.
    #[inline]
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.is_degraded
    }

    /// Whether there is nothing to say.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_none() && !self.is_degraded
    }

    /// What the dialect says of this decision under `governing`, one of the policies asked.
    #[inline]
    #[must_use]
    pub fn of<'a>(
        dialect: HeaderDialect,
        policies: impl Iterator<Item = &'a Policy> + Clone,
        governing: &Policy,
        decision: &Decision,
    ) -> Marks {
        let values = match dialect {
            HeaderDialect::Off => None,
            dialect => Some(Values::of(dialect, policies, governing, decision)),
        };
        Marks { values, is_degraded: false }
    }

    /// Adds the headers; values are handed over, and not said twice. Where a limit closer to the
    /// service has said something, that stands, and only the list of policies grows.
    #[inline]
    pub fn write(&mut self, fields: &mut impl Fields) {
        if let Some(values) = &mut self.values {
            values.write(fields);
            self.values = None;
        }
        if self.is_degraded {
            fields.set(Field::Degraded, FieldText(Bytes::from_static(b"1")));
        }
    }
}

impl Values {
    fn of<'a>(
        dialect: HeaderDialect,
        policies: impl Iterator<Item = &'a Policy> + Clone,
        governing: &Policy,
        decision: &Decision,
    ) -> Values {
        let mut ends = [0; 4];
        let text = value(|text| {
            if dialect.has_draft() {
                write_policies(policies, text);
                ends[0] = text.len();
                decision.write_state_field(governing, text);
                ends[1] = text.len();
            }
            if dialect.has_legacy() {
                write_number(decision.limit.whole_units(), text);
                ends[2] = text.len();
                write_number(decision.remaining.whole_units(), text);
                ends[3] = text.len();
                write_number(decision.legacy_reset_secs(), text);
            }
        });
        // Far below four gigabytes.
        Values { text, ends: ends.map(|end| u32::try_from(end).unwrap_or(u32::MAX)), dialect }
    }

    fn write(&mut self, fields: &mut impl Fields) {
        let Values { text, ends, dialect } = self;
        let [policies, state, limit, remaining] = ends.map(|end| end as usize);
        if dialect.has_draft() {
            let list = text.split_to(policies);
            let governing = match dialect.has_legacy() {
                true => text.split_to(state - policies),
                false => mem::take(text),
            };
            fields.add(Field::Policy, list);
            fields.set_new(Field::State, governing);
        }
        if dialect.has_legacy() && fields.set_new(Field::LegacyLimit, text.split_to(limit - state))
        {
            fields.set(Field::LegacyRemaining, text.split_to(remaining - limit));
            fields.set(Field::LegacyReset, mem::take(text));
        }
    }
}

/// Lists the limits of all policies, each policy once.
fn write_policies<'a>(policies: impl Iterator<Item = &'a Policy> + Clone, text: &mut Vec<u8>) {
    let all = policies.clone();
    for (place, policy) in policies.enumerate() {
        if all.clone().take(place).any(|earlier| earlier.name() == policy.name()) {
            continue;
        }
        if place > 0 {
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(policy.policy_field().as_bytes());
    }
}

/// Where header values are cut from.
struct Scratch {
    text: Vec<u8>,
    pool: BytesMut,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> =
        RefCell::new(Scratch { text: Vec::with_capacity(256), pool: BytesMut::with_capacity(POOL) });
}

/// How much the pool asks for at a time: the values of some hundred answers.
const POOL: usize = 4_096;

/// What `write` writes, cut from a buffer of the thread's own: it is used again once the answers that
/// were cut from it are sent, so that most values cost no allocation.
///
/// Names of limits are letters, digits and `_.-`, so the text is visible ASCII and spaces. An `unsafe`
/// block of `tidegate-tower` relies on it.
fn value(write: impl FnOnce(&mut Vec<u8>)) -> FieldText {
    SCRATCH.with_borrow_mut(|Scratch { text, pool }| {
        text.clear();
        write(text);
        debug_assert!(text.iter().all(|byte| matches!(byte, b' '..=b'~')), "{text:?}");
        // Between answers, since the pool can begin anew at its front only when nothing that was cut
        // from it is held any more.
        if pool.capacity() < text.len() {
            pool.reserve(text.len().max(POOL));
        }
        pool.extend_from_slice(text);
        FieldText(pool.split().freeze())
    })
}

/// Writes a number in decimal digits.
fn write_number(number: u64, text: &mut Vec<u8>) {
    let start = text.len();
    let mut rest = number;
    loop {
        text.push(b'0' + u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text[start..].reverse();
}

#[cfg(test)]
mod tests {
    use std::iter;

    use tidegate::{Check, Cost, Key, Limit, MemoryStore};

    use super::*;

    /// Headers in the order in which they were set.
    #[derive(Default)]
    struct Lines(Vec<(Field, Bytes)>);

    impl Fields for Lines {
        fn set(&mut self, field: Field, text: FieldText) {
            self.0.retain(|(other, _)| *other != field);
            self.add(field, text);
        }

        fn set_new(&mut self, field: Field, text: FieldText) -> bool {
            let is_new = self.0.iter().all(|(other, _)| *other != field);
            if is_new {
                self.add(field, text);
            }
            is_new
        }

        fn add(&mut self, field: Field, text: FieldText) {
            self.0.push((field, text.into_bytes()));
        }
    }

    fn marks(limit: &str) -> Marks {
        let policy = Policy::new("api", [Limit::quota("api", limit).unwrap()]).unwrap();
        let key = Key::new(b"alice").unwrap();
        let decision = MemoryStore::new().take_one(&Check::take(key, &policy, Cost::ONE));
        Marks::of(HeaderDialect::Both, iter::once(&policy), &policy, &decision)
    }

    #[test]
    fn policies_are_said_before_the_state_and_all_of_it_once() {
        let mut lines = Lines::default();
        let mut marks = marks("3/hour");
        marks.write(&mut lines);
        marks.write(&mut lines);
        let said: Vec<(Field, &[u8])> =
            lines.0.iter().map(|(field, text)| (*field, &**text)).collect();
        assert_eq!(
            said[..4],
            [
                (Field::Policy, &b"\"api\";q=3;w=3600"[..]),
                (Field::State, b"\"api\";r=2;t=2400"),
                (Field::LegacyLimit, b"3"),
                (Field::LegacyRemaining, b"2"),
            ]
        );
        assert_eq!((said.len(), said[4].0), (5, Field::LegacyReset));
    }

    #[test]
    fn what_a_closer_limit_has_said_stands() {
        let mut lines = Lines::default();
        marks("3/hour").write(&mut lines);
        let closer = lines.0.clone();
        marks("9/hour").write(&mut lines);
        assert_eq!(lines.0[..5], closer);
        assert_eq!(lines.0[5..], [(Field::Policy, Bytes::from_static(b"\"api\";q=9;w=3600"))]);
    }
}
