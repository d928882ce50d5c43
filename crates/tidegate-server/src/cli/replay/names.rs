//! Keys as hashes, and how to get the few names back that a report shows.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufReader, Read, Seek, Write};

use siphasher::sip::SipHasher13;

use super::scratch::scratch_file;

/// Hashes remembered, so that a key seen again soon is not noted again.
const RECENT: usize = 1 << 16;

/// Bytes of notes kept in memory; those before them go to disk.
const NOTES_IN_MEMORY: usize = 16 << 20;

/// A key's hash: SipHash-1-3, the same in every run, so that equal logs give equal reports.
///
/// Among five million keys the odds that any two share one of 2^64 hashes are below one in a
/// million.
pub(super) fn hash_key(key: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(0x7469_6465_6761_7465, 0x7265_706c_6179_2e31);
    hasher.write(key);
    hasher.finish()
}

/// Every key that was met, by its hash: the last ones in memory, the ones before on disk.
#[derive(Debug)]
pub(super) struct Names {
    recent: Vec<u64>,
    /// Notes of hash, length and bytes, one after the other.
    notes: Vec<u8>,
    notes_in_memory: usize,
    file: Option<File>,
}

impl Names {
    pub(super) fn new() -> Names {
        Names::with_room(NOTES_IN_MEMORY)
    }

    fn with_room(notes_in_memory: usize) -> Names {
        // A place holds only hashes that end in its own number, and this one ends in another.
        let recent = (0..RECENT as u64).map(|place| !place).collect();
        Names { recent, notes: Vec::new(), notes_in_memory, file: None }
    }

    /// Remembers a key of at most 65,535 bytes.
    pub(super) fn note(&mut self, hash: u64, key: &[u8]) -> io::Result<()> {
        let place = usize::try_from(hash % RECENT as u64).unwrap_or(0);
        if self.recent[place] == hash {
            return Ok(());
        }
        self.recent[place] = hash;
        let len = u16::try_from(key.len()).unwrap_or(u16::MAX);
        self.notes.extend_from_slice(&hash.to_le_bytes());
        self.notes.extend_from_slice(&len.to_le_bytes());
        self.notes.extend_from_slice(&key[..usize::from(len)]);
        if self.notes.len() >= self.notes_in_memory {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(scratch_file()?),
        };
        file.write_all(&self.notes)?;
        self.notes.clear();
        Ok(())
    }

    /// The keys of these hashes.
    pub(super) fn find(mut self, hashes: &[u64]) -> io::Result<HashMap<u64, Vec<u8>>> {
        let mut found = HashMap::new();
        collect(&mut self.notes.as_slice(), hashes, &mut found)?;
        if let Some(mut file) = self.file.take() {
            file.rewind()?;
            let mut reader = BufReader::with_capacity(1 << 16, file);
            collect(&mut reader, hashes, &mut found)?;
        }
        Ok(found)
    }
}

/// Reads notes until all wanted ones are found or there are no more.
fn collect(
    notes: &mut impl Read,
    wanted: &[u64],
    found: &mut HashMap<u64, Vec<u8>>,
) -> io::Result<()> {
    let mut key = Vec::new();
    while found.len() < wanted.len() {
        let mut hash = [0; 8];
        match notes.read_exact(&mut hash) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            result => result?,
        }
        let mut len = [0; 2];
        notes.read_exact(&mut len)?;
        key.resize(usize::from(u16::from_le_bytes(len)), 0);
        notes.read_exact(&mut key)?;
        let hash = u64::from_le_bytes(hash);
        if wanted.contains(&hash) {
            found.insert(hash, key.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_memory_and_from_disk() {
        let keys: Vec<Vec<u8>> = (0_u32..500)
            .map(|number| number.to_string().into_bytes())
            .chain([vec![], vec![0xff; 1_000]])
            .collect();
        for room in [64, 1 << 20] {
            let mut names = Names::with_room(room);
            for key in keys.iter().chain(&keys) {
                names.note(hash_key(key), key).expect("room");
            }
            assert_eq!(names.file.is_some(), room == 64);
            let hashes: Vec<u64> = keys.iter().map(|key| hash_key(key)).collect();
            let found = names.find(&hashes).expect("readable");
            for key in &keys {
                assert_eq!(found.get(&hash_key(key)), Some(key));
            }
        }
    }
}
