//! Logs become requests, and a count of the lines that do not.

use std::path::PathBuf;

use super::entry::{Entry, Fault, Slots};
use super::error::ReplayError;
use super::format::{LineReader, Question};
use super::input::{Input, Line};
use super::names::{Names, hash_key};
use super::progress::Progress;
use super::record::{Record, Sorter};
use super::report::{Counted, Example, nearest_span};

/// What was read of all logs.
pub(super) struct Traffic {
    pub(super) requests: Sorter,
    pub(super) names: Names,
    pub(super) summary: Summary,
}

/// What became of the lines.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Lines that are not blank and no header.
    pub(super) lines: u64,
    pub(super) played: u64,
    pub(super) malformed: Counted,
    /// Lines with a time before that of a line above them in the same log.
    pub(super) out_of_order: Counted,
    /// The earliest and the latest time, in Unix nanoseconds.
    pub(super) span: Option<(u64, u64)>,
}

/// Reads all logs.
pub(super) fn read_logs(
    logs: &[PathBuf],
    question: &Question,
    progress: &Progress,
) -> Result<Traffic, ReplayError> {
    let mut traffic =
        Traffic { requests: Sorter::new(), names: Names::new(), summary: Summary::default() };
    for log in logs {
        traffic.read(Input::open(log, progress)?, question)?;
    }
    let summary = &traffic.summary;
    match summary.malformed.first.first() {
        _ if summary.lines == 0 => {
            let logs: Vec<_> = logs.iter().map(|log| log.display().to_string()).collect();
            Err(ReplayError::Empty { logs: logs.join(", ") })
        }
        Some(Example { at, reason }) if summary.played == 0 => Err(ReplayError::NothingPlayed {
            lines: summary.lines,
            first: format!("{at}: {reason}"),
        }),
        _ => Ok(traffic),
    }
}

impl Traffic {
    fn read(&mut self, mut input: Input, question: &Question) -> Result<(), ReplayError> {
        if input.sample().next().is_none() && !input.goes_on() {
            return Ok(());
        }
        let (reader, wanted) = LineReader::for_log(&input, question)?;
        let mut slots = Slots::new(wanted.names().len());
        let mut key = Vec::new();
        let mut latest = Latest::default();
        while let Some(line) = input.next()? {
            let picked = match line {
                Line::TooLong => Err(Fault::TooLong),
                Line::Whole(line) => reader.pick(line, &mut slots),
            };
            let entry = match picked {
                Ok(false) => continue,
                Ok(true) => wanted.entry(&slots, &mut key),
                Err(fault) => Err(fault),
            };
            self.summary.lines += 1;
            match entry {
                Ok(entry) => {
                    self.add(entry, &key).map_err(ReplayError::scratch)?;
                    let order = latest.meet(entry.time, input.number());
                    self.summary.note_order(&input, order);
                }
                Err(fault) => self.summary.note_fault(&input, &fault),
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry, key: &[u8]) -> std::io::Result<()> {
        let Entry { time, cost } = entry;
        self.summary.played += 1;
        let (from, to) = self.summary.span.unwrap_or((time, time));
        self.summary.span = Some((from.min(time), to.max(time)));
        let hash = hash_key(key);
        self.names.note(hash, key)?;
        self.requests.push(Record { key: hash, time, cost })
    }
}

impl Summary {
    fn note_fault(&mut self, input: &Input, fault: &Fault) {
        self.malformed.add(|| Example::new(input.name(), input.number(), fault.to_string()));
    }

    fn note_order(&mut self, input: &Input, earlier_than: Option<(u64, u64)>) {
        if let Some((line, nanos)) = earlier_than {
            self.out_of_order.add(|| {
                let reason = format!("{} earlier than line {line}", nearest_span(nanos));
                Example::new(input.name(), input.number(), reason)
            });
        }
    }
}

/// The latest time in one log so far.
#[derive(Debug, Default)]
struct Latest {
    time: u64,
    line: u64,
}

impl Latest {
    /// Of a line that is earlier: the line with the latest time, and by how many nanoseconds.
    fn meet(&mut self, time: u64, line: u64) -> Option<(u64, u64)> {
        if time < self.time {
            return Some((self.line, self.time - time));
        }
        *self = Latest { time, line };
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::super::args::Format;
    use super::*;

    fn read(log: &[u8], format: Format, key: &[&str]) -> Result<Summary, ReplayError> {
        let question = Question {
            format,
            time: None,
            key: key.iter().map(|&field| field.to_owned()).collect(),
            cost: Some("bytes".to_owned()),
        };
        let mut traffic =
            Traffic { requests: Sorter::new(), names: Names::new(), summary: Summary::default() };
        traffic.read(Input::new("log", Cursor::new(log.to_vec()))?, &question)?;
        Ok(traffic.summary)
    }

    /// How many lines a person would count: neither blank ones nor headers.
    fn count_lines(log: &[u8], header: &[u8]) -> u64 {
        let lines = log.split(|byte| *byte == b'\n');
        let whole = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let counted = whole.filter(|line| !line.trim_ascii().is_empty() && *line != header);
        counted.count() as u64
    }

    #[test]
    fn lines_that_cannot_be_played_are_counted_and_shown() {
        let log = b"ts,ip,bytes\n10,::1,5\n9,::1,5\n\n-\n11,::1,-5\n12,,5\n13,::1\nts,ip,bytes\n14,::1,.5\r\n";
        let summary = read(log, Format::Auto, &["ip"]).expect("readable");
        assert_eq!((summary.lines, summary.played), (7, 3));
        let shown = |counted: &Counted| -> Vec<String> {
            let examples = counted.first.iter();
            examples.map(|Example { at, reason }| format!("{at}: {reason}")).collect()
        };
        assert_eq!(shown(&summary.out_of_order), ["log:3: 1s earlier than line 2"]);
        assert_eq!(summary.malformed.lines, 4);
        let fields = "not CSV: more or fewer fields than the header has";
        assert_eq!(
            shown(&summary.malformed),
            [
                format!("log:5: {fields}"),
                "log:6: cost: below zero; amounts start at 0".to_owned(),
                "log:7: key is empty; it must be 1 to 1024 bytes".to_owned(),
                format!("log:8: {fields}"),
            ]
        );
        assert_eq!(summary.span, Some((9_000_000_000, 14_000_000_000)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn every_line_is_played_or_malformed(
            log in proptest::collection::vec(
                prop_oneof![
                    any::<Vec<u8>>(),
                    Just(b"\n".to_vec()),
                    Just(b"::1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n".to_vec()),
                    Just(b"{\"ts\":1431857103,\"ip\":\"::1\",\"bytes\":1}\n".to_vec()),
                    Just(b"1431857103,::1,7\r\n".to_vec()),
                ],
                0..12,
            ),
        ) {
            let log = log.concat();
            // What begins like gzip is gzip.
            prop_assume!(!log.starts_with(&[0x1f, 0x8b]) && !log.starts_with(b"\xef\xbb\xbf"));
            for format in [Format::Combined, Format::Json] {
                // Fields that no JSON line in it has are refused as a whole.
                if let Ok(summary) = read(&log, format, &["ip", "bytes"]) {
                    prop_assert_eq!(summary.lines, count_lines(&log, b""));
                    prop_assert_eq!(summary.lines, summary.played + summary.malformed.lines);
                } else {
                    prop_assert_eq!(format, Format::Json);
                }
            }
            let csv = [b"ts,ip,bytes\n", log.as_slice()].concat();
            let summary = read(&csv, Format::Csv, &["ip"]).expect("the header has all fields");
            prop_assert_eq!(summary.lines, count_lines(&csv, b"ts,ip,bytes"));
            prop_assert_eq!(summary.lines, summary.played + summary.malformed.lines);
            // Whatever format it is taken for, nothing panics.
            let _ = read(&log, Format::Auto, &["ip"]);
        }
    }
}
