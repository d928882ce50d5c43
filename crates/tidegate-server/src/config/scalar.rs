//! The text of a scalar, as YAML lets people write it.

use tidegate::{NotationError, Span, parse_span};

/// A plain scalar as decimal text: `10_000` becomes `10000`, YAML's `.inf` and `.nan` lose the dot.
pub(super) fn plain_number(text: &str) -> String {
    let unsigned = text.trim_start_matches(['+', '-']);
    if matches!(unsigned.to_ascii_lowercase().as_str(), ".inf" | ".nan") {
        return text.replacen('.', "", 1);
    }
    let grouped = text.split('_');
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match text.contains('_') && grouped.clone().all(all_digits) {
        true => grouped.collect(),
        false => text.to_owned(),
    }
}

/// A length of time, which may be zero.
pub(super) fn read_span(text: &str) -> Result<Span, String> {
    let text = plain_number(text);
    match parse_span(&text) {
        Ok(span) => Ok(span),
        Err(NotationError::Zero { .. }) => Ok(Span::ZERO),
        Err(_) if text.trim_start().starts_with('-') => {
            Err("a length of time cannot be negative".into())
        }
        Err(error) => Err(error.to_string()),
    }
}
