//! `POST /limit`: a question in headers, an answer in a status.

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use tidegate::{Amount, Cost, Key, Mode, Outcome};

use super::fields;
use crate::constants::DEFAULT_POLICY;
use crate::face::http::{Reply, text};
use crate::face::{Mistake, Refused};
use crate::service::{Answer, CheckRequest, Reason, Service};
use crate::settings::HeaderDialect;

const KEY: HeaderName = HeaderName::from_static("x-client-key");
const TOKENS: HeaderName = HeaderName::from_static("x-required-tokens");
const POLICY: HeaderName = HeaderName::from_static("x-policy");
const DEGRADED: HeaderName = HeaderName::from_static("x-ratelimit-degraded");

/// Reads the headers, asks the service, and writes the answer.
pub(super) async fn decide(
    service: &Service,
    headers: &HeaderMap,
    dialect: HeaderDialect,
) -> Result<Reply, Refused> {
    let request = read(headers)?;
    let answer = service.decide_one(service.rules(), request).await;
    let answer = answer.map_err(|refusal| Refused::of(&refusal, |_| "X-Policy".into()))?;
    Ok(reply(&answer, dialect))
}

/// The question in these headers.
fn read(headers: &HeaderMap) -> Result<CheckRequest<'_>, Mistake> {
    let Some(key) = single(headers, &KEY, "X-Client-Key")? else {
        let detail = "missing; it names who asks, in 1 to 1024 bytes";
        return Err(Mistake::new(Reason::Key, "X-Client-Key", detail));
    };
    let key = Key::new(key.as_bytes()).map_err(|error| Mistake::key("X-Client-Key", error))?;
    Ok(CheckRequest { key, policy: policy(headers)?, cost: cost(headers)?, mode: Mode::Take })
}

fn policy(headers: &HeaderMap) -> Result<&str, Mistake> {
    match single(headers, &POLICY, "X-Policy")? {
        None => Ok(DEFAULT_POLICY),
        Some(name) => name
            .to_str()
            .map_err(|_| Mistake::policy("X-Policy", &String::from_utf8_lossy(name.as_bytes()))),
    }
}

fn cost(headers: &HeaderMap) -> Result<Cost, Mistake> {
    let Some(tokens) = single(headers, &TOKENS, "X-Required-Tokens")? else {
        return Ok(Amount::ONE);
    };
    // What is not ASCII is no decimal either.
    let cost: Cost = tokens
        .to_str()
        .unwrap_or("?")
        .parse()
        .map_err(|error| Mistake::cost("X-Required-Tokens", error))?;
    if cost.is_zero() {
        let detail = "must be above 0; to look without taking, POST cost 0 to /v1/check";
        return Err(Mistake::new(Reason::Cost, "X-Required-Tokens", detail));
    }
    Ok(cost)
}

/// The header's only line. Two lines would leave it to chance which of them counts.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    shown: &str,
) -> Result<Option<&'a HeaderValue>, Mistake> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next();
    if lines.next().is_some() {
        return Err(Mistake::new(Reason::Malformed, shown, "given twice; give it once"));
    }
    Ok(first)
}

/// The answer as a status, a line of text, and headers.
fn reply(answer: &Answer<'_>, dialect: HeaderDialect) -> Reply {
    let Some(decision) = answer.decision else {
        let mut reply = text(StatusCode::OK, "");
        reply.headers_mut().insert(DEGRADED, HeaderValue::from_static("1"));
        return reply;
    };
    let mut reply = match decision.outcome {
        Outcome::Allow => text(StatusCode::OK, ""),
        Outcome::Deny => text(StatusCode::TOO_MANY_REQUESTS, "rate limit exceeded\n"),
        Outcome::Exceeds => text(StatusCode::TOO_MANY_REQUESTS, "cost exceeds limit\n"),
    };
    let headers = reply.headers_mut();
    if let Some(wait) = decision.retry_after_secs() {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    fields::write(headers, dialect, answer.policy(), &decision);
    reply
}
