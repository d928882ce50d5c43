//! What a replay found, for people and for machines.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use tidegate::{Policy, Span};

use super::args::ReplayArgs;
use super::entry::key_parts;
use super::play::{KeyTally, Tally};
use super::read::Summary;
use crate::explain;

/// Lines shown of each kind that is counted.
const EXAMPLES: usize = 5;

/// The longest key that the text shows, in characters.
const KEY_SHOWN: usize = 80;

/// What a replay found.
///
/// Times are RFC 3339 in UTC; costs are in units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The logs, as named.
    pub logs: Vec<String>,
    /// The policy they were played through.
    pub policy: String,
    /// The fields that told clients apart.
    pub key: Vec<String>,
    /// The field that held the cost; without one each request costs 1.
    pub cost: Option<String>,
    /// The time of the earliest request.
    pub from: String,
    /// The time of the latest request.
    pub to: String,
    /// Lines that are neither blank nor a header: those played and the malformed ones.
    pub lines: u64,
    /// Requests played: those allowed and those denied.
    pub played: u64,
    /// Requests that would have passed.
    pub allowed: u64,
    /// Requests that would have been denied.
    pub denied: u64,
    /// Of the denied those whose cost is more than a limit can ever hold.
    pub exceeds: u64,
    /// What the allowed requests cost together.
    pub allowed_cost: f64,
    /// What the denied requests cost together.
    pub denied_cost: f64,
    /// The limits, in the policy's order.
    pub limits: Vec<LimitReport>,
    /// How many keys there are.
    pub keys: u64,
    /// How many of them were denied at least once.
    pub keys_denied: u64,
    /// The keys denied most often, those denied most first.
    pub most_denied: Vec<KeyReport>,
    /// The minute with the most denials, the earliest of equals.
    pub worst_minute: Option<Minute>,
    /// Lines that could not be played.
    pub malformed: Counted,
    /// Lines with a time before that of a line above them in the same log; they were played in
    /// order of time.
    pub out_of_order: Counted,
}

/// What one limit did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitReport {
    /// Its name.
    pub name: String,
    /// What it allows, in words.
    pub rule: String,
    /// The denials that it governed: where several limits deny, the one with the longest wait.
    pub denied: u64,
}

/// What happened to one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyReport {
    /// The values of the key's fields; bytes that are no UTF-8 are replaced.
    pub key: Vec<String>,
    /// Its requests.
    pub asked: u64,
    /// Those that would have passed.
    pub allowed: u64,
    /// Those that would have been denied.
    pub denied: u64,
    /// When it would have been denied first.
    pub first_denied: String,
}

/// One minute of the traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Minute {
    /// When it begins.
    pub start: String,
    /// Requests in it.
    pub asked: u64,
    /// Those that would have been denied.
    pub denied: u64,
}

/// Lines of one kind: how many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// How many.
    pub lines: u64,
    /// The first few.
    pub first: Vec<Example>,
}

/// A line, and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The log and the line's number, from 1: `access.log:17`.
    pub at: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Counted {
    /// Counts a line; the example is made only when it is one of the first.
    pub(super) fn add(&mut self, example: impl FnOnce() -> Example) {
        self.lines += 1;
        if self.first.len() < EXAMPLES {
            self.first.push(example());
        }
    }
}

impl Example {
    pub(super) fn new(log: &str, line: u64, reason: String) -> Example {
        Example { at: format!("{log}:{line}"), reason }
    }
}

impl Report {
    pub(super) fn new(
        args: &ReplayArgs,
        policy: &Policy,
        summary: Summary,
        tally: &Tally,
        names: &HashMap<u64, Vec<u8>>,
    ) -> Report {
        let (from, to) = summary.span.unwrap_or_default();
        let limits = policy.limits().iter().zip(&tally.by_limit);
        let keys = tally.most_denied.iter();
        Report {
            logs: args.logs.iter().map(|log| log.display().to_string()).collect(),
            policy: policy.name().to_string(),
            key: args.key.clone(),
            cost: args.cost.clone(),
            from: rfc3339(from),
            to: rfc3339(to),
            lines: summary.lines,
            played: summary.played,
            allowed: tally.allowed.requests,
            denied: tally.denied.requests,
            exceeds: tally.exceeds,
            allowed_cost: units(tally.allowed.cost),
            denied_cost: units(tally.denied.cost),
            limits: limits
                .map(|(limit, denied)| LimitReport {
                    name: limit.name().to_string(),
                    rule: explain::limit(limit),
                    denied: *denied,
                })
                .collect(),
            keys: tally.keys,
            keys_denied: tally.keys_denied,
            most_denied: keys.map(|key| key_report(key, args.key.len(), names)).collect(),
            worst_minute: tally.worst_minute.map(|minute| Minute {
                start: rfc3339(minute.start),
                asked: minute.asked,
                denied: minute.denied,
            }),
            malformed: summary.malformed,
            out_of_order: summary.out_of_order,
        }
    }

    /// Writes the report as one JSON object.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// Writes the report for people.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_totals(out)?;
        self.write_limits(out)?;
        self.write_keys(out)?;
        if let Some(Minute { start, asked, denied }) = &self.worst_minute {
            let (asked, denied) = (grouped(*asked), grouped(*denied));
            writeln!(out, "\nworst minute: {start}, {denied} of {asked} denied")?;
        }
        let note = "played in order of time";
        write_counted(out, &self.out_of_order, "out of order", note)?;
        write_counted(out, &self.malformed, "malformed", "not played")
    }

    fn write_totals(&self, out: &mut impl Write) -> io::Result<()> {
        let (lines, played) = (grouped(self.lines), grouped(self.played));
        writeln!(out, "{played} of {lines} lines of {} played", self.logs.join(", "))?;
        writeln!(out, "from {} to {}", self.from, self.to)?;
        let key = self.key.join(",");
        let cost = self.cost.as_deref().unwrap_or("1 each");
        writeln!(out, "policy {}, key {key}, cost {cost}\n", self.policy)?;
        let rows = [
            ("allowed", self.allowed, self.allowed_cost),
            ("denied", self.denied, self.denied_cost),
        ];
        for (name, requests, cost) in rows {
            let share = percent(requests, self.played);
            write!(out, "{name:<10}{:>15}  {share:>7}", grouped(requests))?;
            match self.cost {
                Some(_) => writeln!(out, "  cost {cost}")?,
                None => writeln!(out)?,
            }
        }
        if self.exceeds > 0 {
            let exceeds = grouped(self.exceeds);
            writeln!(out, "  of them {exceeds:>15}  for good: the cost exceeds the limit")?;
        }
        Ok(())
    }

    fn write_limits(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{:>15}  by limit", "denied")?;
        for limit in &self.limits {
            let LimitReport { name, rule, denied } = limit;
            writeln!(out, "{:>15}  {name}: {rule}", grouped(*denied))?;
        }
        Ok(())
    }

    fn write_keys(&self, out: &mut impl Write) -> io::Result<()> {
        let (denied, keys) = (grouped(self.keys_denied), grouped(self.keys));
        writeln!(out, "\n{denied} of {keys} keys denied")?;
        if self.most_denied.is_empty() {
            return Ok(());
        }
        writeln!(out, "{:>15}{:>15}  key", "denied", "allowed")?;
        for key in &self.most_denied {
            let (denied, allowed) = (grouped(key.denied), grouped(key.allowed));
            writeln!(out, "{denied:>15}{allowed:>15}  {}", shown(&key.key))?;
        }
        Ok(())
    }
}

fn key_report(key: &KeyTally, fields: usize, names: &HashMap<u64, Vec<u8>>) -> KeyReport {
    let name = names.get(&key.hash).map_or(&[][..], Vec::as_slice);
    KeyReport {
        key: key_parts(name, fields),
        asked: key.asked,
        allowed: key.asked - key.denied,
        denied: key.denied,
        first_denied: rfc3339(key.first_denied.0),
    }
}

fn write_counted(
    out: &mut impl Write,
    counted: &Counted,
    name: &str,
    note: &str,
) -> io::Result<()> {
    if counted.lines == 0 {
        return Ok(());
    }
    let lines = match counted.lines {
        1 => "1 line".to_owned(),
        lines => format!("{} lines", grouped(lines)),
    };
    writeln!(out, "\n{name}: {lines}, {note}")?;
    for Example { at, reason } in &counted.first {
        writeln!(out, "  {at}: {reason}")?;
    }
    let more = counted.lines - counted.first.len() as u64;
    match more {
        0 => Ok(()),
        more => writeln!(out, "  and {} more", grouped(more)),
    }
}

/// A key on one line: characters that would move a terminal's cursor are written out.
fn shown(parts: &[String]) -> String {
    let joined = parts.join("  ");
    let mut text = String::new();
    for character in joined.chars().take(KEY_SHOWN) {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    if joined.chars().nth(KEY_SHOWN).is_some() {
        text.push_str("...");
    }
    text
}

/// An instant as RFC 3339 in UTC, from Unix nanoseconds.
fn rfc3339(nanos: u64) -> String {
    let instant = jiff::Timestamp::from_nanosecond(i128::from(nanos));
    instant.map_or_else(|_| format!("{nanos}ns"), |instant| instant.to_string())
}

/// Units of a sum of millionths, as the nearest double.
#[allow(clippy::cast_precision_loss, reason = "a report of more than 2^53 millionths rounds")]
fn units(micros: u128) -> f64 {
    micros as f64 / 1e6
}

/// A number with a comma after each third digit: `4,525`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in hundredths of a percent; only all is 100.00%, and only none 0.00%.
fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    let nearest = (part * 10_000 + whole / 2) / whole;
    let share = match part {
        0 => 0,
        part if part < whole => nearest.clamp(1, 9_999),
        _ => nearest,
    };
    format!("{}.{:02}%", share / 100, share % 100)
}

/// A span for people: whole seconds from a second on.
pub(super) fn nearest_span(nanos: u64) -> Span {
    match nanos {
        0..1_000_000_000 => Span::from_nanos(nanos),
        _ => Span::from_secs(nanos / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_never_round_to_all_or_none() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(percent(4_117, 4_525), "90.98%");
        assert_eq!(percent(99_999_999, 100_000_000), "99.99%");
        assert_eq!(percent(408, 4_525), "9.02%");
        assert_eq!(percent(1, 100_000_000), "0.01%");
        assert_eq!(percent(7, 7), "100.00%");
        assert_eq!(percent(0, 0), "0.00%");
    }

    #[test]
    fn keys_cannot_write_to_the_terminal() {
        assert_eq!(shown(&["\u{1b}[2Ja\n".to_owned(), "b".to_owned()]), "\\u{1b}[2Ja\\n  b");
        assert_eq!(shown(&["x".repeat(100)]).len(), KEY_SHOWN + 3);
    }
}
