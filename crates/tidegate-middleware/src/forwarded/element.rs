//! The elements of a `Forwarded` header, RFC 7239.

use std::borrow::Cow;

/// The elements of a line, the last one first.
///
/// Quotes are paired from the right: the last elements were written by proxies that are believed, and
/// what stands left of them, a quote without its partner for instance, must not change how they read.
pub(super) fn from_right(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let Some(comma) = last_comma(line) else {
            rest = None;
            return Some(line);
        };
        rest = Some(&line[..comma]);
        Some(&line[comma + 1..])
    })
}

/// Where the last comma stands that is not inside quotes.
fn last_comma(line: &[u8]) -> Option<usize> {
    let mut quoted = false;
    (0..line.len()).rev().find(|place| {
        match line[*place] {
            b'"' if !is_escaped(&line[..*place]) => quoted = !quoted,
            b',' => return !quoted,
            _ => {}
        }
        false
    })
}

/// Whether what follows `before` stands behind an odd number of backslashes.
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The value of the one `for` of an element; none when there is none, or more than one.
pub(super) fn forwarded_for(element: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut found = None;
    let mut rest = element;
    while !rest.is_empty() {
        let end = pair_end(rest);
        let pair = rest[..end].trim_ascii();
        rest = rest.get(end + 1..).unwrap_or_default();
        let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
        if !pair[..equals].eq_ignore_ascii_case(b"for") {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(unquote(&pair[equals + 1..])?);
    }
    found
}

/// Where a pair ends: at a semicolon outside of quotes, or with the text.
fn pair_end(text: &[u8]) -> usize {
    let mut quoted = false;
    let end = (0..text.len()).find(|place| {
        match text[*place] {
            b'"' if !is_escaped(&text[..*place]) => quoted = !quoted,
            b';' => return !quoted,
            _ => {}
        }
        false
    });
    end.unwrap_or(text.len())
}

/// A value without its quotes; none when they do not match.
fn unquote(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(opened) = value.strip_prefix(b"\"") else {
        return (!value.contains(&b'"')).then_some(Cow::Borrowed(value));
    };
    let text = opened.strip_suffix(b"\"").filter(|text| !is_escaped(text))?;
    if !text.contains(&b'\\') {
        return Some(Cow::Borrowed(text));
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        plain.push(if *byte == b'\\' { *bytes.next()? } else { *byte });
    }
    Some(Cow::Owned(plain))
}
