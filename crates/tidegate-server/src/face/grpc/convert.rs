//! From messages to requests, and from answers to messages.

use tidegate::{Amount, Cost, Decision, Key, Mode, Outcome, Span};

use crate::constants::{DEFAULT_POLICY, MAX_CHECKS};
use crate::face::Mistake;
use crate::proto::v1 as wire;
use crate::service::{Answer, CheckRequest, Joint, Reason};

/// The request in a message; `place` is what its fields' names begin with.
pub(super) fn request<'a>(
    asked: &'a wire::AllowRequest,
    place: &str,
) -> Result<CheckRequest<'a>, Mistake> {
    let policy = match asked.policy.as_str() {
        "" => DEFAULT_POLICY,
        named => named,
    };
    let key = Key::new(&asked.key).map_err(|error| Mistake::key(format!("{place}key"), error))?;
    Ok(CheckRequest {
        key,
        policy,
        cost: cost(asked.tokens).map_err(|error| Mistake::cost(format!("{place}tokens"), error))?,
        mode: if asked.debit { Mode::Debit } else { Mode::Take },
    })
}

/// A zero is what a message without tokens holds, and means one.
fn cost(tokens: f64) -> Result<Cost, tidegate::AmountError> {
    if tokens == 0.0 {
        return Ok(Amount::ONE);
    }
    Amount::from_f64(tokens)
}

/// The requests in a batch.
pub(super) fn requests(asked: &wire::CheckRequest) -> Result<Vec<CheckRequest<'_>>, Mistake> {
    if asked.checks.is_empty() || asked.checks.len() > MAX_CHECKS {
        let detail = format!("holds {}; it must hold 1 to {MAX_CHECKS}", asked.checks.len());
        return Err(Mistake::new(Reason::Malformed, "checks", detail));
    }
    let numbered = asked.checks.iter().enumerate();
    numbered
        // The place is only written out when there is a mistake to tell.
        .map(|(at, check)| {
            request(check, "").or_else(|_| request(check, &format!("checks[{at}].")))
        })
        .collect()
}

/// How the checks of a batch hang together.
pub(super) fn joint(asked: &wire::CheckRequest) -> Result<Joint, Mistake> {
    match wire::Mode::try_from(asked.mode) {
        Ok(wire::Mode::All) => Ok(Joint::All),
        Ok(wire::Mode::Each) => Ok(Joint::Each),
        Err(_) => {
            let detail = format!("{} is none; use MODE_ALL or MODE_EACH", asked.mode);
            Err(Mistake::new(Reason::Malformed, "mode", detail))
        }
    }
}

/// The message of an answer.
pub(super) fn response(answer: &Answer<'_>) -> wire::AllowResponse {
    let policy = answer.policy().name().as_str().to_owned();
    match answer.decision {
        Some(decision) => decided(&decision, policy, answer.limit_name().to_owned()),
        None => wire::AllowResponse {
            allowed: true,
            retry_after: Some(duration(Span::ZERO)),
            outcome: wire::Outcome::Allow.into(),
            degraded: true,
            policy,
            ..wire::AllowResponse::default()
        },
    }
}

fn decided(decision: &Decision, policy: String, limit_name: String) -> wire::AllowResponse {
    let (outcome, wait) = match decision.outcome {
        Outcome::Allow => (wire::Outcome::Allow, Some(Span::ZERO)),
        Outcome::Deny => (wire::Outcome::Deny, decision.retry_after),
        Outcome::Exceeds => (wire::Outcome::Exceeds, None),
    };
    wire::AllowResponse {
        allowed: decision.is_allowed(),
        retry_after: wait.map(|wait| duration(Span::from_secs(wait.as_secs_ceil()))),
        retry_after_exact: decision.retry_after.map(duration),
        limit: decision.limit.as_f64(),
        remaining: decision.remaining.as_f64(),
        reset_after: Some(duration(decision.reset_after)),
        limit_name,
        outcome: outcome.into(),
        degraded: false,
        policy,
    }
}

/// A span as protobuf writes it; the longest has 11 digits of seconds and always fits.
fn duration(span: Span) -> prost_types::Duration {
    let nanos = span.as_nanos();
    prost_types::Duration {
        seconds: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        nanos: i32::try_from(nanos % 1_000_000_000).unwrap_or(0),
    }
}
