//! The rate limit headers: the IETF's draft 11, and the older `X-RateLimit-*`.

use std::fmt::Write;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tidegate::{Algorithm, Amount, Decision, Limit, Policy, Span};

use super::limit::retry_after;
use crate::settings::HeaderDialect;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");
const LEGACY_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const LEGACY_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const LEGACY_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

const SECOND: Span = Span::from_secs(1);

/// Adds what the dialect says about the policy and the decision.
pub(super) fn write(
    headers: &mut HeaderMap,
    dialect: HeaderDialect,
    policy: &Policy,
    decision: &Decision,
) {
    let Some(limit) = policy.limits().get(decision.limit_index) else {
        return;
    };
    if matches!(dialect, HeaderDialect::Draft11 | HeaderDialect::Both) {
        insert_text(headers, POLICY, &policy_field(policy));
        insert_text(headers, STATE, &state_field(limit, decision));
    }
    if matches!(dialect, HeaderDialect::Legacy | HeaderDialect::Both) {
        let reset = retry_after(decision).unwrap_or_else(|| decision.reset_after.as_secs_ceil());
        headers.insert(LEGACY_LIMIT, decision.limit.whole_units().into());
        headers.insert(LEGACY_REMAINING, decision.remaining.whole_units().into());
        headers.insert(LEGACY_RESET, reset.into());
    }
}

/// Names are letters, digits and `_.-`, so the text is always a header value.
fn insert_text(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

/// Every limit of the policy: `"burst";q=50;w=5, "daily";q=10000;w=86400`.
fn policy_field(policy: &Policy) -> String {
    let mut field = String::with_capacity(32 * policy.limits().len());
    for limit in policy.limits() {
        let (name, algorithm) = (limit.name(), limit.algorithm());
        let comma = if field.is_empty() { "" } else { ", " };
        let quota = algorithm.max().whole_units();
        // Writing to a String cannot fail.
        let _ = write!(field, "{comma}\"{name}\";q={quota}");
        let window = algorithm.window();
        if window >= SECOND {
            let _ = write!(field, ";w={}", window.as_secs_ceil());
        }
    }
    field
}

/// The governing limit: `"burst";r=49;t=5`.
fn state_field(limit: &Limit, decision: &Decision) -> String {
    let available = decision.remaining.whole_units();
    let window = retry_after(decision).unwrap_or_else(|| effective_window(limit, decision));
    format!("\"{}\";r={available};t={window}", limit.name())
}

/// The seconds over which a client may spread what remains and never be denied: one that paces
/// itself at r per t passes.
fn effective_window(limit: &Limit, decision: &Decision) -> u64 {
    let available = decision.remaining.whole_units();
    let spread = match *limit.algorithm() {
        Algorithm::FixedWindow { window, .. } if decision.reset_after.is_zero() => {
            window.as_secs_ceil()
        }
        Algorithm::FixedWindow { .. } => decision.reset_after.as_secs_ceil(),
        // Micro-units over (num / den) micro-units per microsecond.
        Algorithm::TokenBucket { rate, .. } => seconds(
            u128::from(decision.remaining.as_micros()) * u128::from(rate.den()),
            u128::from(rate.num()) * 1_000_000,
        ),
        // The least t with r / t <= max / window.
        Algorithm::RollingWindow { max, window } | Algorithm::SlidingWindow { max, window } => {
            seconds(
                u128::from(Amount::from_units(available).as_micros())
                    * u128::from(window.as_nanos()),
                u128::from(max.as_micros()) * 1_000_000_000,
            )
        }
    };
    // A minimum spacing holds whatever the limit has room for.
    let spaced = limit.min_interval().map_or(0, |interval| {
        seconds(u128::from(available) * u128::from(interval.as_nanos()), 1_000_000_000)
    });
    spread.max(spaced)
}

/// `part / whole` rounded up; nothing of nothing is zero.
fn seconds(part: u128, whole: u128) -> u64 {
    u64::try_from(part.div_ceil(whole.max(1))).unwrap_or(u64::MAX)
}
