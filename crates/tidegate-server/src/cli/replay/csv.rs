//! CSV with a header, one record a line.

use super::entry::{Fault, Slots};

/// The characters that may separate fields.
const DELIMITERS: [u8; 3] = [b',', b'\t', b';'];

/// A header: what separates fields, and their names.
#[derive(Clone, Debug)]
pub(super) struct Header {
    delimiter: u8,
    line: Vec<u8>,
    names: Vec<String>,
}

impl Header {
    /// Reads a header line, or nothing when it has no two fields.
    pub(super) fn parse(line: &[u8]) -> Option<Header> {
        let count = |delimiter: &u8| line.iter().filter(|byte| *byte == delimiter).count();
        let delimiter = DELIMITERS.into_iter().max_by_key(|delimiter| {
            // Of equal counts the last is the greatest, and the comma shall be preferred.
            (count(delimiter), *delimiter == b',')
        })?;
        let mut names = Vec::new();
        each_field(line, delimiter, |_, value| {
            names.push(String::from_utf8_lossy(value).trim().to_owned());
        })
        .ok()?;
        (names.len() > 1).then(|| Header { delimiter, line: line.to_vec(), names })
    }

    /// The names of the fields.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The texts of a line's fields, as far as they can be read.
    pub(super) fn texts(&self, line: &[u8]) -> Vec<String> {
        let mut texts = Vec::new();
        let _ = each_field(line, self.delimiter, |_, value| {
            texts.push(String::from_utf8_lossy(value).into_owned());
        });
        texts
    }

    /// Whether a line is this header again, as in files that were put together.
    pub(super) fn is_repeated_by(&self, line: &[u8]) -> bool {
        line == self.line
    }

    /// Fills each slot with its column.
    pub(super) fn pick(
        &self,
        line: &[u8],
        columns: &[usize],
        slots: &mut Slots,
    ) -> Result<(), Fault> {
        let mut found = 0;
        each_field(line, self.delimiter, |column, value| {
            found = column + 1;
            for (slot, wanted) in columns.iter().enumerate() {
                if *wanted == column {
                    slots.set(slot, value);
                }
            }
        })?;
        match found == self.names.len() {
            true => Ok(()),
            false => Err(Fault::NotCsv("more or fewer fields than the header has")),
        }
    }
}

/// Gives each field of a line with its column; quotes are taken off, doubled ones are one.
fn each_field(line: &[u8], delimiter: u8, mut give: impl FnMut(usize, &[u8])) -> Result<(), Fault> {
    let mut rest = line;
    for column in 0.. {
        let after = match rest {
            [b'"', quoted @ ..] => {
                let (text, after) = unquote(quoted)?;
                give(column, &text);
                after
            }
            plain => {
                let end = plain.iter().position(|byte| *byte == delimiter);
                let (text, after) = plain.split_at(end.unwrap_or(plain.len()));
                give(column, text);
                after
            }
        };
        rest = match after {
            [] => break,
            [next, after @ ..] if *next == delimiter => after,
            _ => return Err(Fault::NotCsv("text after a closing quote")),
        };
    }
    Ok(())
}

/// Reads to the closing quote; gives the text and what follows it.
fn unquote(text: &[u8]) -> Result<(std::borrow::Cow<'_, [u8]>, &[u8]), Fault> {
    let mut doubled = false;
    let mut at = 0;
    loop {
        match (text.get(at), text.get(at + 1)) {
            (None, _) => return Err(Fault::NotCsv("a quote is not closed on its line")),
            (Some(b'"'), Some(b'"')) => {
                doubled = true;
                at += 2;
            }
            (Some(b'"'), _) => break,
            _ => at += 1,
        }
    }
    let (inside, after) = (&text[..at], &text[at + 1..]);
    if !doubled {
        return Ok((inside.into(), after));
    }
    let mut plain = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter();
    while let Some(byte) = bytes.next() {
        plain.push(*byte);
        if *byte == b'"' {
            bytes.next();
        }
    }
    Ok((plain.into(), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Result<Vec<String>, Fault> {
        let mut texts = Vec::new();
        each_field(line.as_bytes(), b',', |_, value| {
            texts.push(String::from_utf8_lossy(value).into_owned());
        })?;
        Ok(texts)
    }

    #[test]
    fn fields_are_unquoted() {
        for (line, expected) in [
            ("a,b", vec!["a", "b"]),
            ("", vec![""]),
            (",", vec!["", ""]),
            (r#""a,b","say ""hi""",c"#, vec!["a,b", r#"say "hi""#, "c"]),
            (r#"a"b,"""""#, vec![r#"a"b"#, "\""]),
            (r#"""",""#, vec!["\","]),
        ] {
            assert_eq!(fields(line).expect(line), expected, "{line}");
        }
    }

    #[test]
    fn headers_tell_their_delimiter() {
        for (line, names) in [
            ("time,ip", vec!["time", "ip"]),
            ("time\tip\tuser, full", vec!["time", "ip", "user, full"]),
            ("time;\"ip\" ", vec![]),
            ("time; ip ", vec!["time", "ip"]),
            ("time", vec![]),
        ] {
            let header = Header::parse(line.as_bytes());
            let found = header.map(|header| header.names).unwrap_or_default();
            assert_eq!(found, names, "{line}");
        }
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        let header = Header::parse(b"time,ip").expect("a header");
        let counted = "more or fewer fields than the header has";
        for (line, reason) in [
            ("-", counted),
            ("1", counted),
            ("1,2,3", counted),
            ("1,\"2", "a quote is not closed on its line"),
            ("1,\"2\"x", "text after a closing quote"),
        ] {
            let fault = header.pick(line.as_bytes(), &[0, 1], &mut Slots::new(2));
            assert_eq!(fault, Err(Fault::NotCsv(reason)), "{line}");
        }
    }
}
