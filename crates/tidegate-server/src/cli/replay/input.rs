//! Logs as lines: opened, decompressed, bounded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::error::ReplayError;
use super::progress::Progress;
use crate::constants::MAX_LOG_LINE;

/// How much of a log is looked at to tell its format, in bytes.
const SAMPLE: usize = 1 << 16;

const BUFFER: usize = 1 << 18;

/// How a gzip file begins.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// An open log.
pub(super) struct Input {
    name: String,
    reader: BufReader<Box<dyn Read>>,
    sample: Vec<u8>,
    line: Vec<u8>,
    number: u64,
}

/// A line of a log, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Input {
    /// Opens a log, or standard input for `-`.
    pub(super) fn open(path: &Path, progress: &Progress) -> Result<Input, ReplayError> {
        if path == Path::new("-") {
            return Input::new("stdin", progress.watch(io::stdin()));
        }
        let log = path.display().to_string();
        let refuse = |source| ReplayError::Open { log: log.clone(), source };
        let file = File::open(path).map_err(refuse)?;
        if file.metadata().map_err(refuse)?.is_dir() {
            return Err(ReplayError::Directory { log });
        }
        Input::new(&log, progress.watch(file))
    }

    /// A log that is read from `raw`, which may be gzip.
    pub(super) fn new(name: &str, mut raw: impl Read + 'static) -> Result<Input, ReplayError> {
        let refuse = |source| ReplayError::Read { log: name.to_owned(), line: 0, source };
        let magic = read_up_to(&mut raw, GZIP_MAGIC.len()).map_err(refuse)?;
        let is_gzip = magic == GZIP_MAGIC;
        let raw = Cursor::new(magic).chain(raw);
        let mut plain: Box<dyn Read> = match is_gzip {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, raw))),
            false => Box::new(raw),
        };
        let sample = read_up_to(&mut plain, SAMPLE).map_err(refuse)?;
        let all = Cursor::new(sample.clone()).chain(plain);
        Ok(Input {
            name: name.to_owned(),
            reader: BufReader::with_capacity(BUFFER, Box::new(all)),
            sample,
            line: Vec::new(),
            number: 0,
        })
    }

    /// The log's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The lines at the beginning that are not blank; the last one only when it is whole.
    pub(super) fn sample(&self) -> impl Iterator<Item = &[u8]> {
        let whole = match self.sample.len() < SAMPLE {
            true => self.sample.len(),
            false => self.sample.iter().rposition(|b| *b == b'\n').unwrap_or(SAMPLE),
        };
        let lines = without_mark(&self.sample[..whole]).split(|byte| *byte == b'\n');
        lines.map(without_return).filter(|line| !is_blank(line))
    }

    /// Whether the log is longer than what was looked at.
    pub(super) fn goes_on(&self) -> bool {
        self.sample.len() == SAMPLE
    }

    /// The next line that is not blank, or nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, ReplayError> {
        loop {
            let whole = match self.read_line() {
                Ok(None) => return Ok(None),
                Ok(Some(whole)) => whole,
                Err(source) => {
                    return Err(ReplayError::Read {
                        log: self.name.clone(),
                        line: self.number,
                        source,
                    });
                }
            };
            self.number += 1;
            if !whole {
                return Ok(Some(Line::TooLong));
            }
            let start = match self.number {
                1 => self.line.len() - without_mark(&self.line).len(),
                _ => 0,
            };
            if !is_blank(&self.line[start..]) {
                return Ok(Some(Line::Whole(without_return(&self.line[start..]))));
            }
        }
    }

    /// Reads one line into `line`, and says whether it fits; nothing at the end.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let mut bounded = (&mut self.reader).take(MAX_LOG_LINE as u64 + 1);
        if bounded.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() > MAX_LOG_LINE {
            self.reader.skip_until(b'\n')?;
            self.line = Vec::new();
            return Ok(Some(false));
        }
        Ok(Some(true))
    }
}

/// Reads `len` bytes, or fewer at the end.
fn read_up_to(reader: &mut impl Read, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    reader.take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text without the mark that some editors put before UTF-8.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// The lines with their numbers; one that is too long is `~`.
    fn lines(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut input = Input::new("log", Cursor::new(bytes.to_vec())).expect("readable");
        let mut lines = Vec::new();
        while let Some(line) = input.next().expect("readable") {
            let line = match line {
                Line::Whole(line) => line.to_vec(),
                Line::TooLong => b"~".to_vec(),
            };
            lines.push((input.number(), line));
        }
        lines
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("room");
        encoder.finish().expect("room")
    }

    #[test]
    fn line_ends_marks_and_blank_lines_are_no_part_of_lines() {
        let expected = [(1, b"a".to_vec()), (3, b" b".to_vec()), (5, b"c\rd".to_vec())];
        assert_eq!(lines(b"\xef\xbb\xbfa\r\n\n b\n \t\r\nc\rd"), expected);
        assert!(lines(b"").is_empty());
        assert!(lines(b"\n\n").is_empty());
    }

    #[test]
    fn gzip_is_told_by_its_first_bytes_also_in_several_members() {
        let both = [gzip(b"a\nb"), gzip(b"c\nd\n")].concat();
        let expected = [(1, b"a".to_vec()), (2, b"bc".to_vec()), (3, b"d".to_vec())];
        assert_eq!(lines(&both), expected);
    }

    #[test]
    fn cut_gzip_is_an_error_that_names_the_line() {
        let mut whole = String::new();
        for number in 0_u64..200_000 {
            whole.push_str(&format!("{}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
        let cut = gzip(whole.as_bytes());
        let cut = cut[..cut.len() / 2].to_vec();
        let mut input = Input::new("log.gz", Cursor::new(cut)).expect("a sample");
        let error = loop {
            match input.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a cut file has no end"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.starts_with("cannot read log.gz after line "), "{error}");
    }

    #[test]
    fn too_long_lines_are_counted_and_not_held() {
        let mut log = b"a\n".to_vec();
        log.extend(std::iter::repeat_n(b'x', MAX_LOG_LINE));
        log.extend_from_slice(b"\n");
        log.extend(std::iter::repeat_n(b'y', 3 * MAX_LOG_LINE));
        log.extend_from_slice(b"\nb");
        let found = lines(&log);
        assert_eq!(found.len(), 4);
        assert_eq!(found[1].1.len(), MAX_LOG_LINE);
        assert_eq!(found[2], (3, b"~".to_vec()));
        assert_eq!(found[3], (4, b"b".to_vec()));
    }

    #[test]
    fn samples_hold_whole_lines_only() {
        let line = [b'z'; 99];
        let log: Vec<u8> = (0..1_000).flat_map(|_| [&line[..], b"\n"].concat()).collect();
        let input = Input::new("log", Cursor::new(log)).expect("readable");
        assert_eq!(input.sample().count(), SAMPLE / 100);
        assert!(input.sample().all(|found| found == line));
    }
}
