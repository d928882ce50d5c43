//! The rate limit headers: the IETF's draft 11, and the older `X-RateLimit-*`.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tidegate::{Decision, HeaderDialect, Policy};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");
const LEGACY_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const LEGACY_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const LEGACY_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Adds what the dialect says about the policy and the decision.
pub(super) fn write(
    headers: &mut HeaderMap,
    dialect: HeaderDialect,
    policy: &Policy,
    decision: &Decision,
) {
    if dialect.has_draft() {
        let mut state = Vec::with_capacity(64);
        decision.write_state_field(policy, &mut state);
        insert(headers, POLICY, policy.policy_field().as_bytes());
        insert(headers, STATE, &state);
    }
    if dialect.has_legacy() {
        headers.insert(LEGACY_LIMIT, decision.limit.whole_units().into());
        headers.insert(LEGACY_REMAINING, decision.remaining.whole_units().into());
        headers.insert(LEGACY_RESET, decision.legacy_reset_secs().into());
    }
}

/// Names are letters, digits and `_.-`, so the text is always a header value.
fn insert(headers: &mut HeaderMap, name: HeaderName, text: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(text) {
        headers.insert(name, value);
    }
}
