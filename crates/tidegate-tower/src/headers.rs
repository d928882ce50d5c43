//! The rate limit headers of an answer.

use std::cell::RefCell;

use bytes::BytesMut;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use tidegate::{Decision, HeaderDialect, Policy};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");
const LEGACY_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const LEGACY_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const LEGACY_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const DEGRADED: HeaderName = HeaderName::from_static("x-ratelimit-degraded");

/// What the answer to a request will say about its limits.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    draft: Option<Draft>,
    legacy: Option<Legacy>,
    degraded: bool,
}

#[derive(Debug)]
struct Draft {
    policy: HeaderValue,
    state: HeaderValue,
}

#[derive(Debug)]
struct Legacy {
    limit: u64,
    remaining: u64,
    reset: u64,
}

impl Marks {
    /// That the store could not answer, and nothing else.
    pub(crate) fn degraded() -> Marks {
        Marks { degraded: true, ..Marks::default() }
    }

    pub(crate) fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// What the dialect says of this decision under `governing`, one of the policies asked.
    pub(crate) fn of<'a>(
        dialect: HeaderDialect,
        policies: impl Iterator<Item = &'a Policy>,
        governing: &Policy,
        decision: &Decision,
    ) -> Marks {
        make_room();
        let draft = dialect.has_draft().then(|| {
            let policy = value(|text| write_policies(policies, text))?;
            let state = value(|text| decision.write_state_field(governing, text))?;
            Some(Draft { policy, state })
        });
        let legacy = dialect.has_legacy().then(|| Legacy {
            limit: decision.limit.whole_units(),
            remaining: decision.remaining.whole_units(),
            reset: decision.legacy_reset_secs(),
        });
        Marks { draft: draft.flatten(), legacy, degraded: false }
    }

    /// Adds the headers. Where a layer closer to the service has said something about its own limits,
    /// that stands, and only the list of policies grows.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        if let Some(draft) = self.draft {
            if headers.contains_key(STATE) {
                headers.append(POLICY, draft.policy);
            } else {
                headers.insert(POLICY, draft.policy);
                headers.insert(STATE, draft.state);
            }
        }
        if let Some(legacy) = self.legacy.filter(|_| !headers.contains_key(LEGACY_LIMIT)) {
            headers.insert(LEGACY_LIMIT, number(legacy.limit));
            headers.insert(LEGACY_REMAINING, number(legacy.remaining));
            headers.insert(LEGACY_RESET, number(legacy.reset));
        }
        if self.degraded {
            headers.insert(DEGRADED, HeaderValue::from_static("1"));
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
fn value(write: impl FnOnce(&mut Vec<u8>)) -> Option<HeaderValue> {
    SCRATCH.with_borrow_mut(|Scratch { text, pool }| {
        text.clear();
        write(text);
        pool.extend_from_slice(text);
        // Names of limits are letters, digits and `_.-`, so the text is always a header value.
        HeaderValue::from_maybe_shared(pool.split().freeze()).ok()
    })
}

/// A number as a header value.
pub(crate) fn number(number: u64) -> HeaderValue {
    let digits = |text: &mut Vec<u8>| {
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
    };
    value(digits).unwrap_or_else(|| HeaderValue::from(number))
}
