//! What a body asks. Every field is read from its own text, so that a mistake is told by the
//! field's name and a number by the digits that were written.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tidegate::{Amount, Cost, Key, Mode};

use crate::constants::{DEFAULT_POLICY, MAX_CHECKS};
use crate::face::Mistake;
use crate::service::{CheckRequest, Joint, Reason};

/// A body's fields, as they were written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow, default, deserialize_with = "written")]
    key: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "written")]
    policy: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "written")]
    cost: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "written")]
    debit: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "written")]
    checks: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "written")]
    mode: Option<&'a RawValue>,
}

/// A field that was written, be it as `null`.
fn written<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// What a whole body asks.
pub(super) enum Body<'a> {
    /// One question.
    One(Question<'a>),
    /// Several, decided together or each on its own.
    Many { questions: Vec<Question<'a>>, joint: Joint },
}

impl<'a> Body<'a> {
    pub(super) fn read(text: &'a str) -> Result<Body<'a>, Mistake> {
        let fields = fields(text, "")?;
        let Some(checks) = fields.checks else {
            if fields.mode.is_some() {
                return Err(malformed("mode", "only goes with checks"));
            }
            return Ok(Body::One(Question::read(&fields, "")?));
        };
        let single = [
            ("key", fields.key),
            ("policy", fields.policy),
            ("cost", fields.cost),
            ("debit", fields.debit),
        ];
        if let Some((name, _)) = single.iter().find(|(_, value)| value.is_some()) {
            return Err(malformed(*name, "does not go with checks; put it into each of them"));
        }
        Ok(Body::Many { questions: questions(checks)?, joint: joint(fields.mode)? })
    }
}

/// The elements of `checks`.
fn questions(checks: &RawValue) -> Result<Vec<Question<'_>>, Mistake> {
    let elements: Vec<&RawValue> = serde_json::from_str(checks.get())
        .map_err(|_| malformed("checks", "must be an array of 1 to 1000 checks"))?;
    if elements.is_empty() || elements.len() > MAX_CHECKS {
        let detail = format!("holds {}; it must hold 1 to {MAX_CHECKS}", elements.len());
        return Err(malformed("checks", detail));
    }
    let numbered = elements.iter().enumerate();
    numbered
        .map(|(at, element)| {
            let place = format!("checks[{at}]");
            let fields = fields(element.get(), &place)?;
            if fields.checks.is_some() || fields.mode.is_some() {
                return Err(malformed(place, "checks and mode do not go into a check"));
            }
            Question::read(&fields, &format!("{place}."))
        })
        .collect()
}

fn joint(mode: Option<&RawValue>) -> Result<Joint, Mistake> {
    match mode.map(RawValue::get) {
        None | Some(r#""all""#) => Ok(Joint::All),
        Some(r#""each""#) => Ok(Joint::Each),
        Some(_) => Err(malformed("mode", r#"must be "all" or "each""#)),
    }
}

/// One question, its texts unescaped.
pub(super) struct Question<'a> {
    key: Cow<'a, str>,
    policy: Cow<'a, str>,
    cost: Cost,
    mode: Mode,
}

impl<'a> Question<'a> {
    /// Reads a question; `place` is what its fields' names begin with.
    fn read(fields: &Fields<'a>, place: &str) -> Result<Question<'a>, Mistake> {
        let at = |name: &str| format!("{place}{name}");
        let Some(key) = fields.key else {
            let detail = "missing; it names who asks, in 1 to 1024 bytes";
            return Err(Mistake::new(Reason::Key, at("key"), detail));
        };
        let key =
            text(key).ok_or_else(|| Mistake::new(Reason::Key, at("key"), "must be a string"))?;
        Key::new(key.as_ref()).map_err(|error| Mistake::key(at("key"), error))?;
        let policy = match fields.policy {
            None => DEFAULT_POLICY.into(),
            Some(policy) => {
                text(policy).ok_or_else(|| malformed(at("policy"), "must be a string"))?
            }
        };
        let mode = match fields.debit.map(RawValue::get) {
            None | Some("false") => Mode::Take,
            Some("true") => Mode::Debit,
            Some(_) => return Err(malformed(at("debit"), "must be true or false")),
        };
        Ok(Question { key, policy, cost: cost(fields.cost, || at("cost"))?, mode })
    }

    /// The question as the service takes it.
    pub(super) fn request(&self) -> Result<CheckRequest<'_>, Mistake> {
        let key = Key::new(self.key.as_ref()).map_err(|error| Mistake::key("key", error))?;
        Ok(CheckRequest { key, policy: &self.policy, cost: self.cost, mode: self.mode })
    }
}

/// A cost: a number as it was written, or a string that holds one.
fn cost(value: Option<&RawValue>, at: impl Fn() -> String) -> Result<Cost, Mistake> {
    let Some(value) = value else {
        return Ok(Amount::ONE);
    };
    let written = value.get();
    let is_number = written.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let decimal = if is_number { Some(written.into()) } else { text(value) };
    let Some(decimal) = decimal else {
        let detail = "must be a number, or a string that holds a decimal";
        return Err(Mistake::new(Reason::Cost, at(), detail));
    };
    decimal.parse().map_err(|error| Mistake::cost(at(), error))
}

/// The text of a JSON string; borrowed when nothing in it is escaped.
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let inner = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(value.get()).ok().map(Cow::Owned);
    }
    // The whole body was read once, so what stands between the quotes is well formed.
    Some(Cow::Borrowed(inner))
}

fn fields<'a>(text: &'a str, place: &str) -> Result<Fields<'a>, Mistake> {
    if !text.trim_start().starts_with('{') {
        return Err(malformed(place, "must be a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| {
        let detail = match error.is_data() {
            true => error.to_string(),
            false => format!("not JSON: {error}"),
        };
        malformed(place, detail)
    })
}

fn malformed(place: impl Into<String>, detail: impl Into<String>) -> Mistake {
    Mistake::new(Reason::Malformed, place, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(body: &str) -> Result<u64, Mistake> {
        match Body::read(body)? {
            Body::One(question) => Ok(question.cost.as_micros()),
            Body::Many { .. } => Err(malformed("", "many")),
        }
    }

    #[test]
    fn a_cost_is_read_by_its_digits_and_never_through_a_double() {
        let cost = |cost: &str| micros(&format!(r#"{{"key":"k","cost":{cost}}}"#));
        // The nearest double of this is 1.0000010000000001.
        assert_eq!(cost("1.000001"), Ok(1_000_001));
        assert_eq!(cost("999999999999.999999"), Ok(999_999_999_999_999_999));
        assert_eq!(cost("\"0.000001\""), Ok(1));
        assert_eq!(cost("1e-7"), Ok(1));
        assert_eq!(cost("2E3"), Ok(2_000_000_000));
    }

    #[test]
    fn escapes_in_keys_are_undone() {
        let body = r#"{"key":"a\u00e9\"b"}"#;
        let Ok(Body::One(question)) = Body::read(body) else {
            panic!("one question");
        };
        assert_eq!(question.key, "aé\"b");
    }
}
