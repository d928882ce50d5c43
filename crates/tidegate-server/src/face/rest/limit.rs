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

/// The headers that ask: the key, the cost and the policy; and as people write them.
static ASKED: [(HeaderName, &str); 3] = [
    (HeaderName::from_static("x-client-key"), "X-Client-Key"),
    (HeaderName::from_static("x-required-tokens"), "X-Required-Tokens"),
    (HeaderName::from_static("x-policy"), "X-Policy"),
];

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
    let [key, tokens, policy] = lines(headers)?;
    let Some(key) = key else {
        let detail = "missing; it names who asks, in 1 to 1024 bytes";
        return Err(Mistake::new(Reason::Key, "X-Client-Key", detail));
    };
    let key = Key::new(key.as_bytes()).map_err(|error| Mistake::key("X-Client-Key", error))?;
    let policy = policy.map_or(Ok(DEFAULT_POLICY), named)?;
    let cost = tokens.map_or(Ok(Amount::ONE), cost)?;
    Ok(CheckRequest { key, policy, cost, mode: Mode::Take })
}

/// The headers that ask something: each one's only line. Two would leave it to chance which counts.
fn lines(headers: &HeaderMap) -> Result<[Option<&HeaderValue>; 3], Mistake> {
    let mut lines = [None; 3];
    for (name, value) in headers {
        let Some(place) = ASKED.iter().position(|(asked, _)| name == asked) else {
            continue;
        };
        if lines[place].replace(value).is_some() {
            return Err(Mistake::new(
                Reason::Malformed,
                ASKED[place].1,
                "given twice; give it once",
            ));
        }
    }
    Ok(lines)
}

fn named(name: &HeaderValue) -> Result<&str, Mistake> {
    name.to_str()
        .map_err(|_| Mistake::policy("X-Policy", &String::from_utf8_lossy(name.as_bytes())))
}

fn cost(tokens: &HeaderValue) -> Result<Cost, Mistake> {
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
