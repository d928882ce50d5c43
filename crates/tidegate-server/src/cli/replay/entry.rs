//! One line's fields, and what they ask of a limiter.

use tidegate::{AmountError, Cost, Key, KeyError};

use super::time::{TimeFault, parse_time};

/// Which fields of a line are asked for, in the order of [`Slots`]: the time, then those of the
/// key, then that of the cost if there is one.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    names: Vec<String>,
    has_cost: bool,
}

impl Wanted {
    pub(super) fn new(time: &str, key: &[String], cost: Option<&str>) -> Wanted {
        let names = std::iter::once(time).chain(key.iter().map(String::as_str)).chain(cost);
        Wanted { names: names.map(str::to_owned).collect(), has_cost: cost.is_some() }
    }

    /// The names, in the order of slots.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The slots of the key.
    fn key(&self) -> std::ops::Range<usize> {
        1..self.names.len() - usize::from(self.has_cost)
    }

    /// Reads time, key and cost from the slots; the key's bytes are left in `key`.
    pub(super) fn entry(&self, slots: &Slots, key: &mut Vec<u8>) -> Result<Entry, Fault> {
        let time = parse_time(self.value(slots, 0)?).map_err(Fault::Time)?;
        key.clear();
        let fields = self.key();
        for slot in fields.clone() {
            let value = self.value(slots, slot)?;
            if fields.len() > 1 {
                // Each part's length before it keeps ("a", "bc") apart from ("ab", "c").
                let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
                key.extend_from_slice(&len.to_le_bytes());
            }
            key.extend_from_slice(value);
        }
        Key::new(&*key).map_err(Fault::Key)?;
        let cost = match self.has_cost {
            true => parse_cost(self.value(slots, self.names.len() - 1)?).map_err(Fault::Cost)?,
            false => Cost::ONE,
        };
        Ok(Entry { time: time.as_nanos(), cost: cost.as_micros() })
    }

    fn value<'a>(&self, slots: &'a Slots, slot: usize) -> Result<&'a [u8], Fault> {
        slots.value(slot).ok_or_else(|| Fault::Missing { field: self.names[slot].clone() })
    }
}

/// The parts of a key that [`Wanted::entry`] joined of `fields` fields, as people read them.
pub(super) fn key_parts(key: &[u8], fields: usize) -> Vec<String> {
    let text = |part| String::from_utf8_lossy(part).into_owned();
    if fields <= 1 {
        return vec![text(key)];
    }
    let mut parts = Vec::new();
    let mut rest = key;
    while let [low, high, after @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let (part, after) = after.split_at(len.min(after.len()));
        parts.push(text(part));
        rest = after;
    }
    parts
}

/// What a line asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Unix nanoseconds.
    pub(super) time: u64,
    /// Millionths of a unit.
    pub(super) cost: u64,
}

/// Reads a cost; whole numbers, which most are, at once.
fn parse_cost(text: &[u8]) -> Result<Cost, AmountError> {
    let text = text.trim_ascii();
    if (1..=12).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) {
        let units = text.iter().fold(0, |sum, b| sum * 10 + u64::from(b - b'0'));
        return Ok(Cost::from_units(units));
    }
    let text = std::str::from_utf8(text).map_err(|_| AmountError::NotDecimal)?;
    text.parse()
}

/// The values of one line's wanted fields; the room is used again for the next line.
#[derive(Debug)]
pub(super) struct Slots {
    values: Vec<Vec<u8>>,
    filled: Vec<bool>,
}

impl Slots {
    pub(super) fn new(count: usize) -> Slots {
        Slots { values: vec![Vec::new(); count], filled: vec![false; count] }
    }

    /// Empties every slot.
    pub(super) fn clear(&mut self) {
        self.filled.fill(false);
    }

    /// Fills a slot.
    pub(super) fn set(&mut self, slot: usize, value: &[u8]) {
        let room = &mut self.values[slot];
        room.clear();
        room.extend_from_slice(value);
        self.filled[slot] = true;
    }

    fn value(&self, slot: usize) -> Option<&[u8]> {
        self.filled[slot].then_some(self.values[slot].as_slice())
    }
}

/// Why a line cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("longer than {} bytes", crate::constants::MAX_LOG_LINE)]
    TooLong,
    #[error("not a combined or common log line: {0}")]
    NotCombined(&'static str),
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("not CSV: {0}")]
    NotCsv(&'static str),
    #[error("no value for {field:?}")]
    Missing { field: String },
    #[error("time: {0}")]
    Time(TimeFault),
    #[error("cost: {0}")]
    Cost(AmountError),
    #[error(transparent)]
    Key(KeyError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(values: &[&[u8]]) -> Vec<u8> {
        let fields: Vec<String> = values.iter().map(|_| "field".to_owned()).collect();
        let mut slots = Slots::new(values.len() + 1);
        slots.set(0, b"0");
        for (slot, value) in (1..).zip(values) {
            slots.set(slot, value);
        }
        let mut key = Vec::new();
        let wanted = Wanted::new("time", &fields, None);
        wanted.entry(&slots, &mut key).expect("an entry");
        key
    }

    #[test]
    fn keys_of_several_fields_do_not_collide_by_joining() {
        assert_ne!(key_of(&[b"a", b"bc"]), key_of(&[b"ab", b"c"]));
        assert_ne!(key_of(&[b"a,b", b""]), key_of(&[b"a", b"b,"]));
        assert_eq!(key_parts(&key_of(&[b"a", b"bc"]), 2), ["a", "bc"]);
        assert_eq!(key_parts(&key_of(&[b"plain"]), 1), ["plain"]);
    }

    /// P31: a bad cost is refused, never minted.
    #[test]
    fn bad_costs_are_refused_and_decimals_are_exact() {
        assert_eq!(parse_cost(b"203023"), Ok(Cost::from_units(203_023)));
        assert_eq!(parse_cost(b"0.5"), Ok(Cost::from_micros(500_000)));
        assert_eq!(parse_cost(b"1e3"), Ok(Cost::from_units(1_000)));
        for text in [&b""[..], b"-", b"-1", b"NaN", b"1e400", b"0x10", b"\xff", b"1,5"] {
            assert!(parse_cost(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn keys_are_1_to_1024_bytes() {
        let mut slots = Slots::new(2);
        slots.set(0, b"0");
        let wanted = Wanted::new("time", &["ip".to_owned()], None);
        for (value, fault) in
            [(vec![], KeyError::Empty), (vec![b'x'; 1_025], KeyError::TooLong { len: 1_025 })]
        {
            slots.set(1, &value);
            let entry = wanted.entry(&slots, &mut Vec::new());
            assert_eq!(entry, Err(Fault::Key(fault)));
        }
    }
}
