//! The rate limit headers of an answer.

use std::cell::RefCell;

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

/// The headers of an answer, in whatever type a framework keeps them.
pub trait Fields {
    /// Whether there is such a header.
    fn has(&self, field: Field) -> bool;

    /// Sets a header to one line.
    fn set(&mut self, field: Field, value: Bytes);

    /// Adds a line to a header.
    fn add(&mut self, field: Field, value: Bytes);
}

/// What the answer to a request will say about its limits.
#[derive(Debug, Default)]
pub struct Marks {
    draft: Option<Draft>,
    legacy: Option<Legacy>,
    degraded: bool,
}

#[derive(Debug)]
struct Draft {
    policy: Bytes,
    state: Bytes,
}

#[derive(Debug)]
struct Legacy {
    limit: u64,
    remaining: u64,
    reset: u64,
}

impl Marks {
    /// That the store could not answer, and nothing else.
    #[must_use]
    pub fn degraded() -> Marks {
        Marks { degraded: true, ..Marks::default() }
    }

    /// Whether the store could not answer.
    #[inline]
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// What the dialect says of this decision under `governing`, one of the policies asked.
    #[must_use]
    pub fn of<'a>(
        dialect: HeaderDialect,
        policies: impl Iterator<Item = &'a Policy>,
        governing: &Policy,
        decision: &Decision,
    ) -> Marks {
        make_room();
        let draft = dialect.has_draft().then(|| Draft {
            policy: value(|text| write_policies(policies, text)),
            state: value(|text| decision.write_state_field(governing, text)),
        });
        let legacy = dialect.has_legacy().then(|| Legacy {
            limit: decision.limit.whole_units(),
            remaining: decision.remaining.whole_units(),
            reset: decision.legacy_reset_secs(),
        });
        Marks { draft, legacy, degraded: false }
    }

    /// Adds the headers. Where a limit closer to the service has said something, that stands, and only
    /// the list of policies grows.
    pub fn write(self, fields: &mut impl Fields) {
        if let Some(draft) = self.draft {
            if fields.has(Field::State) {
                fields.add(Field::Policy, draft.policy);
            } else {
                fields.set(Field::Policy, draft.policy);
                fields.set(Field::State, draft.state);
            }
        }
        if let Some(legacy) = self.legacy.filter(|_| !fields.has(Field::LegacyLimit)) {
            fields.set(Field::LegacyLimit, number(legacy.limit));
            fields.set(Field::LegacyRemaining, number(legacy.remaining));
            fields.set(Field::LegacyReset, number(legacy.reset));
        }
        if self.degraded {
            fields.set(Field::Degraded, Bytes::from_static(b"1"));
        }
    }
}

/// Lists the limits of all policies, each policy once.
fn write_policies<'a>(policies: impl Iterator<Item = &'a Policy>, text: &mut Vec<u8>) {
    let mut seen = smallvec::SmallVec::<[&Policy; 2]>::new();
    for policy in policies {
        if seen.iter().any(|earlier| earlier.name() == policy.name()) {
            continue;
        }
        if !seen.is_empty() {
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(policy.policy_field().as_bytes());
        seen.push(policy);
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

/// Room for the values of one answer, unless it lists very many limits.
const ANSWER: usize = 1_024;

/// Sees to it that the values of the next answer find room. It is done between answers, since the pool
/// can begin anew at its front only when no value that was cut from it is held any more.
fn make_room() {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.pool.capacity() < ANSWER {
            scratch.pool.reserve(POOL);
        }
    });
}

/// The header value that `write` writes, cut from a buffer of the thread's own: it is used again once
/// the answers that were cut from it are sent, so that most values cost no allocation.
///
/// Names of limits are letters, digits and `_.-`, so the text always is one.
fn value(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    SCRATCH.with_borrow_mut(|Scratch { text, pool }| {
        text.clear();
        write(text);
        pool.extend_from_slice(text);
        pool.split().freeze()
    })
}

/// A number as a header value.
#[must_use]
pub fn number(number: u64) -> Bytes {
    value(|text| {
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
    })
}
