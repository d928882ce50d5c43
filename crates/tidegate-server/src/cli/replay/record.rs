//! Requests as small as they can be, sorted by key and time in bounded memory.
//!
//! A key's requests are played one after the other, and then the next key's: no limit looks across
//! keys, so the answers are those of playing by time alone, and only one key's state is ever held.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use super::scratch::scratch_file;

/// Requests in one sorted run: 24 MB.
const RUN_LEN: usize = 1 << 20;

/// Runs kept in memory; those after them go to disk.
const RUNS_IN_MEMORY: usize = 5;

/// One request. The order is that of playing: by key, then by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The key's hash.
    pub(super) key: u64,
    /// Unix nanoseconds.
    pub(super) time: u64,
    /// Millionths of a unit.
    pub(super) cost: u64,
}

const RECORD_BYTES: usize = 24;
const _: () = assert!(size_of::<Record>() == RECORD_BYTES);

impl Record {
    fn order(&self) -> (u64, u64) {
        (self.key, self.time)
    }

    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time.to_le_bytes());
        bytes[16..].copy_from_slice(&self.cost.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Record {
        let word = |at: usize| std::array::from_fn(|byte| bytes[at + byte]);
        Record {
            key: u64::from_le_bytes(word(0)),
            time: u64::from_le_bytes(word(8)),
            cost: u64::from_le_bytes(word(16)),
        }
    }
}

/// Collects records in any order and gives them back sorted; equal ones keep their order.
#[derive(Debug)]
pub(super) struct Sorter {
    run_len: usize,
    current: Vec<Record>,
    runs: Vec<Run>,
}

/// Sorted records.
#[derive(Debug)]
enum Run {
    Memory(Vec<Record>),
    Disk(File),
}

impl Sorter {
    pub(super) fn new() -> Sorter {
        Sorter::with_run_len(RUN_LEN)
    }

    fn with_run_len(run_len: usize) -> Sorter {
        Sorter { run_len, current: Vec::new(), runs: Vec::new() }
    }

    /// Takes one record.
    pub(super) fn push(&mut self, record: Record) -> io::Result<()> {
        if self.current.capacity() == 0 {
            self.current.reserve_exact(self.run_len);
        }
        self.current.push(record);
        if self.current.len() == self.run_len {
            self.close_run()?;
        }
        Ok(())
    }

    /// Sorts what was collected last and puts it away.
    fn close_run(&mut self) -> io::Result<()> {
        self.current.sort_by_key(Record::order);
        let run = if self.runs.len() < RUNS_IN_MEMORY {
            Run::Memory(std::mem::take(&mut self.current))
        } else {
            let file = write_run(&self.current)?;
            self.current.clear();
            Run::Disk(file)
        };
        self.runs.push(run);
        Ok(())
    }

    /// All records, sorted.
    pub(super) fn finish(mut self) -> io::Result<Sorted> {
        self.current.sort_by_key(Record::order);
        self.runs.push(Run::Memory(self.current));
        let mut sorted = Sorted {
            runs: self.runs.into_iter().map(Run::read).collect(),
            heads: BinaryHeap::new(),
        };
        for run in 0..sorted.runs.len() {
            sorted.advance(run)?;
        }
        Ok(sorted)
    }
}

fn write_run(records: &[Record]) -> io::Result<File> {
    let mut writer = BufWriter::with_capacity(1 << 16, scratch_file()?);
    for record in records {
        writer.write_all(&record.to_bytes())?;
    }
    let mut file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// The records of several runs, merged.
pub(super) struct Sorted {
    runs: Vec<RunReader>,
    /// The first record of each run that has one left: by order, then by run, which keeps the
    /// order of arrival.
    heads: BinaryHeap<Reverse<(u64, u64, usize, u64)>>,
}

impl Sorted {
    /// The next record, or nothing after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<Record>> {
        let Some(Reverse((key, time, run, cost))) = self.heads.pop() else {
            return Ok(None);
        };
        self.advance(run)?;
        Ok(Some(Record { key, time, cost }))
    }

    /// Moves the next record of `run` to the heads.
    fn advance(&mut self, run: usize) -> io::Result<()> {
        if let Some(Record { key, time, cost }) = self.runs[run].next()? {
            self.heads.push(Reverse((key, time, run, cost)));
        }
        Ok(())
    }
}

/// A run being read.
enum RunReader {
    Memory(std::vec::IntoIter<Record>),
    Disk(BufReader<File>),
}

impl Run {
    fn read(self) -> RunReader {
        match self {
            Run::Memory(records) => RunReader::Memory(records.into_iter()),
            Run::Disk(file) => RunReader::Disk(BufReader::with_capacity(1 << 16, file)),
        }
    }
}

impl RunReader {
    fn next(&mut self) -> io::Result<Option<Record>> {
        let reader = match self {
            RunReader::Memory(records) => return Ok(records.next()),
            RunReader::Disk(reader) => reader,
        };
        let mut bytes = [0; RECORD_BYTES];
        match reader.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(Record::from_bytes(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(run_len: usize, records: &[Record]) -> Vec<Record> {
        let mut sorter = Sorter::with_run_len(run_len);
        for record in records {
            sorter.push(*record).expect("room");
        }
        let mut sorted = sorter.finish().expect("room");
        std::iter::from_fn(|| sorted.next().expect("readable")).collect()
    }

    proptest! {
        /// Runs of 3 put most records on disk; the cost tells equal records apart.
        #[test]
        fn records_sort_stably_across_memory_and_disk(
            orders in proptest::collection::vec((0_u64..4, 0_u64..4), 0..60),
        ) {
            let records: Vec<Record> = (0..)
                .zip(orders)
                .map(|(cost, (key, time))| Record { key, time, cost })
                .collect();
            let mut expected = records.clone();
            expected.sort_by_key(Record::order);
            prop_assert_eq!(sorted(3, &records), expected);
        }

        #[test]
        fn records_survive_their_bytes(key: u64, time: u64, cost: u64) {
            let record = Record { key, time, cost };
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        }
    }
}
