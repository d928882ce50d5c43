//! Answers in HTTP.

use std::fmt::Write;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use tidegate::Outcome;

use crate::error::Refused;
use crate::headers::number;

/// The type of the problem that the IETF's draft registers for a denial.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// What an answer's body is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// A line of text.
    #[default]
    Text,
    /// `application/problem+json`, RFC 9457.
    Problem,
}

/// Answers a request that does not get through.
pub(crate) fn refuse(refused: &Refused<'_>, format: Format) -> Response<Bytes> {
    let (kind, body) = match format {
        Format::Text => ("text/plain; charset=utf-8", format!("{refused}\n")),
        Format::Problem => ("application/problem+json", problem(refused)),
    };
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status(refused);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Says when to come back, unless the response says so already.
pub(crate) fn advise(refused: &Refused<'_>, response: &mut Response<Bytes>) {
    if let Refused::Limited { decision, .. } = refused
        && let Some(wait) = decision.retry_after_secs()
        && !response.headers().contains_key(RETRY_AFTER)
    {
        response.headers_mut().insert(RETRY_AFTER, number(wait));
    }
}

pub(crate) fn status(refused: &Refused<'_>) -> StatusCode {
    match refused {
        Refused::Limited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refused::BadRequest(_) => StatusCode::BAD_REQUEST,
        Refused::StoreFailed(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The problem as JSON. A denial is the problem type of the draft, with the limit that it violates.
fn problem(refused: &Refused<'_>) -> String {
    let status = status(refused);
    let title = status.canonical_reason().unwrap_or_default();
    let mut json = String::from("{\"type\":");
    match refused {
        Refused::Limited { decision, .. } if decision.outcome == Outcome::Deny => {
            quote(QUOTA_EXCEEDED, &mut json);
        }
        _ => quote("about:blank", &mut json),
    }
    json.push_str(",\"title\":");
    quote(title, &mut json);
    // Writing to a String does not fail.
    let _ = write!(json, ",\"status\":{},\"detail\":", status.as_u16());
    quote(&refused.to_string(), &mut json);
    if let Some(limit) = refused.limit() {
        json.push_str(",\"violated-policies\":[");
        quote(limit, &mut json);
        json.push(']');
    }
    json.push('}');
    json
}

/// Writes a JSON string.
fn quote(text: &str, json: &mut String) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                json.push('\\');
                json.push(c);
            }
            c if c.is_control() => {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            }
            c => json.push(c),
        }
    }
    json.push('"');
}
