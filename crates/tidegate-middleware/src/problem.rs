//! The bodies of refusals.

use std::fmt::Write;

use tidegate::Outcome;

use crate::refused::Refused;

/// The type of the problem that the IETF's draft registers for a denial.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// What the body of a refusal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A line of text.
    #[default]
    Text,
    /// `application/problem+json`, RFC 9457.
    Problem,
}

/// A body, and what it is.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::{Format, Refused, Text};
///
/// let text = Text::of(&Refused::BadRequest("no such user"), Format::Text);
/// assert_eq!((text.kind, text.body.as_str()), ("text/plain; charset=utf-8", "no such user\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// For the header `Content-Type`.
    pub kind: &'static str,
    /// The text itself.
    pub body: String,
}

impl Text {
    /// The body of this refusal.
    #[must_use]
    pub fn of(refused: &Refused<'_>, format: Format) -> Text {
        let (kind, body) = match format {
            Format::Text => ("text/plain; charset=utf-8", format!("{refused}\n")),
            Format::Problem => ("application/problem+json", problem(refused)),
        };
        Text { kind, body }
    }
}

/// The problem as JSON. A denial is the problem type of the draft, with the limit that it violates.
fn problem(refused: &Refused<'_>) -> String {
    let mut json = String::from("{\"type\":");
    match refused {
        Refused::Limited { decision, .. } if decision.outcome == Outcome::Deny => {
            quote(QUOTA_EXCEEDED, &mut json);
        }
        _ => quote("about:blank", &mut json),
    }
    json.push_str(",\"title\":");
    quote(title(refused), &mut json);
    // Writing to a String does not fail.
    let _ = write!(json, ",\"status\":{},\"detail\":", refused.status());
    quote(&refused.to_string(), &mut json);
    if let Some(limit) = refused.limit() {
        json.push_str(",\"violated-policies\":[");
        quote(limit, &mut json);
        json.push(']');
    }
    json.push('}');
    json
}

/// What the status is called.
fn title(refused: &Refused<'_>) -> &'static str {
    match refused {
        Refused::Limited { .. } => "Too Many Requests",
        Refused::BadRequest(_) => "Bad Request",
        Refused::StoreFailed(_) => "Service Unavailable",
    }
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
