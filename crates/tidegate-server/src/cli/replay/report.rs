//! What a replay found, as data; `text` writes it for people.

mod text;

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

/// A span for people: whole seconds from a second on.
pub(super) fn nearest_span(nanos: u64) -> Span {
    match nanos {
        0..1_000_000_000 => Span::from_nanos(nanos),
        _ => Span::from_secs(nanos / 1_000_000_000),
    }
}
