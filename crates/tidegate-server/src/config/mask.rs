//! Secrets are hidden in every line of a file that is shown.
//!
//! This works on the text alone, because the line to show may be one that could not be read. It hides
//! too much rather than too little: values of fields named like a password (also misspelt), and
//! whatever stands before the `@` of an address.

/// What is shown instead of a secret.
const STARS: &str = "***";

/// A line to show, and the characters of it to underline.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Masked {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Masks `line`, which begins at byte `at` of `text` and has `len` characters from `start` on
/// underlined. It may be the later part of a line.
pub(super) fn line(text: &str, at: usize, line: &str, start: usize, len: usize) -> Masked {
    let mut hidden = secret_values(line);
    hidden.extend(user_info(line));
    let before = text.get(..at).unwrap_or_default();
    if !before.is_empty() && !before.ends_with('\n') {
        // What a part begins with may be the rest of a secret.
        hidden.push((0, line.find([',', '{']).unwrap_or(line.len())));
    } else if continues_secret(before, line) {
        hidden = vec![(indent(line), line.len())];
    }
    apply(line, merged(hidden), start, len)
}

/// Byte ranges of the values of fields whose names are like a password's.
fn secret_values(line: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(colon) = line[from..].find(':').map(|at| from + at) {
        from = colon + 1;
        if is_secret_name(word_before(line, colon)) {
            let start = from + indent(&line[from..]);
            let end = value_end(line, colon, start);
            found.push((start, end));
            from = end;
        }
    }
    found
}

/// The word that ends at this byte, without quotes and spaces.
fn word_before(line: &str, end: usize) -> &str {
    let key = line[..end].trim_end().trim_end_matches(['"', '\'']);
    let start = key
        .char_indices()
        .rev()
        .find(|(_, c)| !(c.is_alphanumeric() || *c == '_' || *c == '-'))
        .map_or(0, |(at, c)| at + c.len_utf8());
    &key[start..]
}

/// Whether a field of this name holds a secret, or looks like a slip of the pen for one.
fn is_secret_name(word: &str) -> bool {
    let word = word.to_lowercase();
    let telling = ["pass", "pwd", "secret", "token", "credential"];
    (telling.iter().any(|part| word.contains(part)) && !word.ends_with("bucket"))
        || (word.len() > 4 && word.len() < 16 && strsim::osa_distance(&word, "password") <= 3)
}

/// Where the value that starts at `start` ends, as far as this line tells.
fn value_end(line: &str, colon: usize, start: usize) -> usize {
    let value = &line[start..];
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let inner = &value[1..];
        let escaped = inner.contains('\\') || inner.contains("''");
        return match inner.find(quote) {
            Some(at) if !escaped => start + 1 + at + 1,
            _ => line.len(),
        };
    }
    // Inside of { } a plain value ends at a comma or a brace; elsewhere it may hold them.
    let in_flow = line[..colon].contains('{');
    match value.find([',', '}']) {
        Some(at) if in_flow => start + at,
        _ => line.len(),
    }
}

/// The byte range between `://`, or the start of an address's value, and the last `@`.
fn user_info(line: &str) -> Option<(usize, usize)> {
    let at = line.rfind('@')?;
    let before = &line[..at];
    let start = match before.find("://") {
        Some(scheme) => scheme + 3,
        None => {
            let addr = before.find("addr")?;
            let value = addr + before[addr..].find(':')? + 1;
            let rest = before[value..].trim_start_matches([' ', '"', '\'']);
            before.len() - rest.len()
        }
    };
    Some((start, at))
}

/// Whether the lines before this one open a secret value that goes on here: a field named like a
/// password's, and less indented.
fn continues_secret(before: &str, line: &str) -> bool {
    let depth = indent(line);
    let opener = before
        .rsplit('\n')
        .skip(1)
        .take(1_000)
        .filter(|line| !line.trim().is_empty())
        .find(|line| indent(line) < depth || depth == 0);
    opener.is_some_and(|opener| {
        let secrets = secret_values(opener);
        secrets.last().is_some_and(|(start, end)| {
            let value = opener[*start..].trim();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            let unclosed = quote.is_some_and(|quote| value.len() < 2 || !value.ends_with(quote));
            let opens = value.is_empty() || value.starts_with(['|', '>', '&', '!']) || unclosed;
            opens && *end == opener.len()
        })
    })
}

/// Bytes of white space that a line begins with.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The ranges in order, with those that overlap made one.
fn merged(mut ranges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    ranges.retain(|(start, end)| start < end);
    ranges.sort_unstable();
    let mut whole: Vec<(usize, usize)> = Vec::new();
    for (start, end) in ranges {
        match whole.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => whole.push((start, end)),
        }
    }
    whole
}

/// Puts stars in place of the hidden ranges and moves the underlined characters accordingly.
fn apply(line: &str, hidden: Vec<(usize, usize)>, start: usize, len: usize) -> Masked {
    let mut masked = Masked { text: String::with_capacity(line.len()), start: 0, len: 0 };
    let mut next = hidden.into_iter().peekable();
    let (mut first, mut last) = (None, 0);
    let mut shown = 0;
    let mut stars_until = 0;
    for (place, (byte, c)) in line.char_indices().enumerate() {
        if let Some((_, end)) = next.next_if(|(begin, _)| *begin == byte) {
            stars_until = end;
            masked.text.push_str(STARS);
            shown += STARS.len();
        }
        let covered = byte < stars_until;
        if !covered {
            masked.text.push(c);
            shown += 1;
        }
        if (start..start + len.max(1)).contains(&place) {
            let width = if covered { STARS.len() } else { 1 };
            first.get_or_insert(shown - width);
            last = shown;
        }
    }
    masked.start = first.unwrap_or(shown + start.saturating_sub(line.chars().count()));
    masked.len = last.saturating_sub(masked.start);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let last = text.rfind('\n').map_or(0, |at| at + 1);
        line(text, last, &text[last..], 0, 1).text
    }

    #[test]
    fn secrets_are_hidden_however_they_are_written() {
        for (text, expected) in [
            ("    password: hunter2", "    password: ***"),
            ("    password: hun,ter2", "    password: ***"),
            ("{ password: hunter2, db: 0 }", "{ password: ***, db: 0 }"),
            ("{ password: \"hun,ter}2\", db: 0 }", "{ password: ***, db: 0 }"),
            ("{ password: \"hunter2, db: 0 }", "{ password: ***"),
            ("{ 'password': 'it''s', db: 0 }", "{ 'password': ***"),
            ("  pasword: hunter2", "  pasword: ***"),
            ("  Passwort : hunter2", "  Passwort : ***"),
            ("addr: \"redis://me:hunter2@host:1/0\"", "addr: \"redis://***@host:1/0\""),
            ("addr: redis://:hun@ter2@host:1/0", "addr: redis://***@host:1/0"),
            ("addr: me:hunter2@host", "addr: ***@host"),
            ("password:\n  hunter2", "  ***"),
            ("password: |\n  hunter2\n  hunter2", "  ***"),
            ("password: \"one\nhunter2", "***"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_a_part_of_a_line_begins_with_is_hidden() {
        let text = "password: hunter2, burts: 5";
        let masked = line(text, 13, &text[13..], 0, 1);
        assert_eq!(masked.text, "***, burts: 5");
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for text in [
            "use_algo: token_bucket",
            "  token_bucket: 5",
            "  - { name: burst, capacity: 50 }",
            "addr: redis:6379",
            "password: a\nother: 5",
        ] {
            let last = text.rsplit('\n').next().unwrap_or_default();
            assert_eq!(shown(text), last);
        }
    }

    #[test]
    fn the_underlined_place_moves_with_the_text() {
        let text = "{ password: hunter2, burts: 5 }";
        let at = text.find("burts").expect("there");
        let masked = line(text, 0, text, at, 5);
        assert_eq!(&masked.text[masked.start..masked.start + masked.len], "burts");
        let inside = line(text, 0, text, 12, 7);
        assert_eq!(&inside.text[inside.start..inside.start + inside.len], "***");
    }
}
