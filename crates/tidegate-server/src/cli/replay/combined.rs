//! The combined and the common log format, as Apache and nginx write it.

use super::entry::{Fault, Slots};

/// The fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Ip,
    Ident,
    User,
    Time,
    Request,
    Method,
    Target,
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    Agent,
}

/// Every field and its name.
pub(super) const FIELDS: [(&str, Field); 14] = [
    ("ip", Field::Ip),
    ("ident", Field::Ident),
    ("user", Field::User),
    ("time", Field::Time),
    ("request", Field::Request),
    ("method", Field::Method),
    ("target", Field::Target),
    ("path", Field::Path),
    ("query", Field::Query),
    ("protocol", Field::Protocol),
    ("status", Field::Status),
    ("bytes", Field::Bytes),
    ("referer", Field::Referer),
    ("agent", Field::Agent),
];

/// The field of this name.
pub(super) fn field(name: &str) -> Option<Field> {
    FIELDS.iter().find_map(|(known, field)| (*known == name).then_some(*field))
}

/// Fills the slots with these fields of the line.
pub(super) fn pick(line: &[u8], fields: &[Field], slots: &mut Slots) -> Result<(), Fault> {
    let line = Line::parse(line)?;
    for (slot, field) in fields.iter().enumerate() {
        if let Some(value) = line.value(*field) {
            slots.set(slot, value);
        }
    }
    Ok(())
}

/// A line in its parts, as written: escapes in quotes are left as they are.
#[derive(Debug)]
struct Line<'a> {
    ip: &'a [u8],
    ident: &'a [u8],
    user: &'a [u8],
    time: &'a [u8],
    request: &'a [u8],
    status: &'a [u8],
    bytes: &'a [u8],
    referer: Option<&'a [u8]>,
    agent: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// Reads `IP IDENT USER [TIME] "REQUEST" STATUS BYTES "REFERER" "AGENT"`; what stands behind is
    /// not looked at, and the common format ends after the bytes.
    fn parse(line: &'a [u8]) -> Result<Line<'a>, Fault> {
        let refuse = |reason| move || Fault::NotCombined(reason);
        let (ip, rest) = split(line, b" ").ok_or_else(refuse("no space after the address"))?;
        let (ident, rest) = split(rest, b" ").ok_or_else(refuse("no space after the ident"))?;
        // A user's name may hold spaces.
        let (user, rest) = split(rest, b" [").ok_or_else(refuse("no [time]"))?;
        let (time, rest) = split(rest, b"] ").ok_or_else(refuse("no ] after the time"))?;
        let (request, rest) = quoted(rest).ok_or_else(refuse("no \"request\" in quotes"))?;
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let (status, rest) = token(rest);
        let (bytes, rest) = token(rest);
        if ip.is_empty() || !is_count(status) || !is_count(bytes) {
            return Err(Fault::NotCombined("no status and bytes after the request"));
        }
        let referer = quoted(rest);
        let agent = referer.and_then(|(_, rest)| quoted(rest.strip_prefix(b" ")?));
        Ok(Line {
            ip,
            ident,
            user,
            time,
            request,
            status,
            bytes,
            referer: referer.map(|(text, _)| text),
            agent: agent.map(|(text, _)| text),
        })
    }

    fn value(&self, field: Field) -> Option<&'a [u8]> {
        Some(match field {
            Field::Ip => self.ip,
            Field::Ident => self.ident,
            Field::User => self.user,
            Field::Time => self.time,
            Field::Request => self.request,
            Field::Method => self.request_parts().0,
            Field::Target => self.request_parts().1,
            Field::Path => split(self.request_parts().1, b"?")
                .map_or_else(|| self.request_parts().1, |(path, _)| path),
            Field::Query => split(self.request_parts().1, b"?").map_or(b"-", |(_, query)| query),
            Field::Protocol => self.request_parts().2,
            Field::Status => self.status,
            // The format writes no bytes at all as `-`.
            Field::Bytes if self.bytes == b"-" => b"0",
            Field::Bytes => self.bytes,
            Field::Referer => self.referer?,
            Field::Agent => self.agent?,
        })
    }

    /// Method, target and protocol; of what is no HTTP request, such as a TLS greeting on the wrong
    /// port, all is target and the others are `-`.
    fn request_parts(&self) -> (&'a [u8], &'a [u8], &'a [u8]) {
        let last = self.request.iter().rposition(|byte| *byte == b' ');
        let parts = split(self.request, b" ").zip(last);
        let Some(((method, rest), last)) = parts else {
            return (b"-", self.request, b"-");
        };
        match rest.split_at_checked(last.wrapping_sub(method.len() + 1)) {
            Some((target, protocol)) => (method, target, &protocol[1..]),
            // HTTP 0.9 has no protocol.
            None => (method, rest, b"-"),
        }
    }
}

/// Splits at the first `mark`, which is in neither part.
fn split<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(mark.len()).position(|window| window == mark)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

/// The text up to a space, and what follows the space.
fn token(text: &[u8]) -> (&[u8], &[u8]) {
    split(text, b" ").unwrap_or((text, b""))
}

/// The inside of the quotes that the text begins with, and what follows them; a backslash keeps a
/// quote from ending it.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some((&text[..at], &text[at + 1..])),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Whether this is a number or `-`.
fn is_count(text: &[u8]) -> bool {
    text == b"-" || (!text.is_empty() && text.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"2001:db8::7 - jo doe [17/May/2015:10:05:03 +0000] "GET /a/b?c=d HTTP/1.1" 200 203023 "http://x/?q=\"y\"" "Agent \"7\" \\" 0.004"#;

    fn value(line: &str, name: &str) -> Option<String> {
        let parts = Line::parse(line.as_bytes()).expect(line);
        let value = parts.value(field(name).expect(name))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    #[test]
    fn every_field_of_a_combined_line_is_found() {
        for (name, expected) in [
            ("ip", "2001:db8::7"),
            ("ident", "-"),
            ("user", "jo doe"),
            ("time", "17/May/2015:10:05:03 +0000"),
            ("request", "GET /a/b?c=d HTTP/1.1"),
            ("method", "GET"),
            ("target", "/a/b?c=d"),
            ("path", "/a/b"),
            ("query", "c=d"),
            ("protocol", "HTTP/1.1"),
            ("status", "200"),
            ("bytes", "203023"),
            ("referer", r#"http://x/?q=\"y\""#),
            ("agent", r#"Agent \"7\" \\"#),
        ] {
            assert_eq!(value(LINE, name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(field("path "), None);
    }

    #[test]
    fn common_lines_have_neither_referer_nor_agent() {
        let line = r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.0" 304 -"#;
        assert_eq!(value(line, "bytes").as_deref(), Some("0"));
        assert_eq!(value(line, "query").as_deref(), Some("-"));
        assert_eq!(value(line, "referer"), None);
        assert_eq!(value(line, "agent"), None);
    }

    #[test]
    fn requests_that_are_none_are_all_target() {
        for (request, method, target, protocol) in [
            ("-", "-", "-", "-"),
            ("", "-", "", "-"),
            (r"\x16\x03\x01", "-", r"\x16\x03\x01", "-"),
            ("GET /", "GET", "/", "-"),
            ("GET /a b HTTP/1.1", "GET", "/a b", "HTTP/1.1"),
        ] {
            let line = format!("1.2.3.4 - - [x] \"{request}\" 400 0");
            for (name, expected) in [("method", method), ("target", target), ("protocol", protocol)]
            {
                assert_eq!(value(&line, name).as_deref(), Some(expected), "{request:?} {name}");
            }
        }
    }

    #[test]
    fn bad_lines_say_what_is_missing() {
        for (line, reason) in [
            ("-", "no space after the address"),
            ("1.2.3.4 -", "no space after the ident"),
            ("1.2.3.4 - - 17/May/2015", "no [time]"),
            ("1.2.3.4 - - [17/May/2015 \"GET /\"", "no ] after the time"),
            ("1.2.3.4 - - [17/May/2015] GET / 200 5", "no \"request\" in quotes"),
            ("1.2.3.4 - - [x] \"GET / 200 5", "no \"request\" in quotes"),
            ("1.2.3.4 - - [x] \"GET /\\\" 200 5", "no \"request\" in quotes"),
            ("1.2.3.4 - - [x] \"GET /\"", "no status and bytes after the request"),
            ("1.2.3.4 - - [x] \"GET /\" ok 5", "no status and bytes after the request"),
            (" - - [x] \"GET /\" 200 5", "no status and bytes after the request"),
        ] {
            let fault = Line::parse(line.as_bytes()).expect_err(line);
            assert_eq!(fault, Fault::NotCombined(reason), "{line}");
        }
    }
}
