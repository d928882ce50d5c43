//! JSON lines: any object, fields named by their path.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::entry::{Fault, Slots};

/// Fills the slots with the fields of these names; `a.b` is the member `b` of `a`, or the member
/// `a.b`.
///
/// Numbers and booleans count as their text, null as nothing. Strings of other fields may hold
/// bytes that are no UTF-8.
pub(super) fn pick(line: &[u8], names: &[String], slots: &mut Slots) -> Result<(), Fault> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(Fault::NotJson("the line is no object".to_owned()));
    }
    let wanted = names.iter().map(String::as_str).enumerate().collect();
    let mut reader = serde_json::Deserializer::from_slice(line);
    Pick { wanted, slots }
        .deserialize(&mut reader)
        .and_then(|()| reader.end())
        .map_err(|error| Fault::NotJson(without_line(&error)))
}

/// The error, naming the column alone: of lines it knows only the one it saw.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    format!("{reason} at column {}", error.column())
}

/// The names of an object's fields that hold plain values, with their texts.
pub(super) fn fields(line: &[u8]) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    if let Ok(Value::Object(members)) = serde_json::from_slice(line) {
        for (name, value) in members {
            flatten(name, value, &mut fields);
        }
    }
    fields
}

/// Adds a value's fields under `name`; as deep as the parser lets a value be.
fn flatten(name: String, value: Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                flatten(format!("{name}.{member}"), value, fields);
            }
        }
        Value::String(text) => fields.push((name, text)),
        Value::Number(_) | Value::Bool(_) => fields.push((name, value.to_string())),
        Value::Null | Value::Array(_) => {}
    }
}

/// Reads one value: those of `wanted` whose path ends here take it, the others look inside.
struct Pick<'p, 's> {
    /// Slots, each with what is left of its path.
    wanted: Vec<(usize, &'p str)>,
    slots: &'s mut Slots,
}

impl Pick<'_, '_> {
    fn take(&mut self, text: &[u8]) {
        for (slot, path) in &self.wanted {
            if path.is_empty() {
                self.slots.set(*slot, text);
            }
        }
    }
}

/// A member's name, borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// What is left of `path` inside the member `name`, if it leads there.
fn inside<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    match path.strip_prefix(name)? {
        "" if path.is_empty() => None,
        "" => Some(""),
        rest => rest.strip_prefix('.'),
    }
}

impl<'de> DeserializeSeed<'de> for Pick<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Pick<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key()? {
            let paths = self.wanted.iter();
            let wanted: Vec<(usize, &str)> =
                paths.filter_map(|(slot, path)| Some((*slot, inside(path, &name)?))).collect();
            if wanted.is_empty() {
                members.next_value::<IgnoredAny>()?;
            } else {
                members.next_value_seed(Pick { wanted, slots: &mut *self.slots })?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.take(text.as_bytes());
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.take(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.take(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.take(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_bool<E>(mut self, truth: bool) -> Result<(), E> {
        self.take(truth.to_string().as_bytes());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Wanted;
    use super::*;

    /// The key that a line has by one field, which stands for what the field holds.
    fn value(line: &[u8], name: &str) -> Result<String, Fault> {
        let wanted = Wanted::new("t", &[name.to_owned()], None);
        let mut slots = Slots::new(2);
        pick(line, wanted.names(), &mut slots)?;
        let mut key = Vec::new();
        slots.set(0, b"0");
        wanted.entry(&slots, &mut key)?;
        Ok(String::from_utf8_lossy(&key).into_owned())
    }

    #[test]
    fn fields_are_found_by_path_and_numbers_are_their_text() {
        let line = br#" {"a":{"b":"x\n\u00e9","c.d":{"e":7}},"a.f":1.25,"n":-3,"y":true,"s":[{"a":1}],"big":18446744073709551615}"#;
        for (name, expected) in [
            ("a.b", "x\n\u{e9}"),
            ("a.c.d.e", "7"),
            ("a.f", "1.25"),
            ("n", "-3"),
            ("y", "true"),
            ("big", "18446744073709551615"),
        ] {
            assert_eq!(value(line, name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn other_fields_may_hold_bytes_that_are_no_utf8() {
        assert_eq!(value(b"{\"agent\":\"\xff\",\"ip\":\"::1\"}", "ip").as_deref(), Ok("::1"));
        let fault = value(b"{\"ip\":\"\xff\"}", "ip");
        assert!(matches!(fault, Err(Fault::NotJson(_))), "{fault:?}");
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        let missing = "no value for \"ip\"";
        for (line, reason) in [
            (&b"-"[..], "not JSON: the line is no object"),
            (b"[1]", "not JSON: the line is no object"),
            (b"{}", missing),
            (br#"{"ip":null}"#, missing),
            (br#"{"ip":["1.2.3.4"]}"#, missing),
            (br#"{"ip":{"v4":"1.2.3.4"}}"#, missing),
            (br#"{"IP":"1.2.3.4"}"#, missing),
            (br#"{"ip":""}"#, "key is empty; it must be 1 to 1024 bytes"),
            (br#"{"ip":"1.2.3.4""#, "not JSON: EOF while parsing an object at column 15"),
            (br#"{"ip":"1.2.3.4"} x"#, "not JSON: trailing characters at column 18"),
            (br#"{ip:1}"#, "not JSON: key must be a string at column 2"),
        ] {
            let fault = value(line, "ip").expect_err("a bad line");
            assert_eq!(fault.to_string(), reason, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        let line = [b"{\"a\":".as_slice(), &b"[".repeat(100_000)].concat();
        assert!(matches!(value(&line, "ip"), Err(Fault::NotJson(_))));
    }

    #[test]
    fn fields_of_a_sample_are_named_by_path() {
        let found = fields(br#"{"a":{"b":1},"c":null,"d":"x"}"#);
        let expected = [("a.b", "1"), ("d", "x")];
        assert!(found.iter().map(|(n, v)| (n.as_str(), v.as_str())).eq(expected), "{found:?}");
    }
}
