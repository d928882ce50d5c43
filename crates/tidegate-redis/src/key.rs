//! Under which names state is kept.
//!
//! A name is `{prefix}:1:{<k>}:<policy>:<limit>:<algorithm>`: the `1` is the format of the state, and
//! the braces around the caller's key make all its limits share a cluster slot. k is the key
//! percent-encoded, so that no colon or brace of a caller's steers anything, or `#` and a hash of it
//! when that is long.

use sha1_smol::Sha1;
use tidegate::{Key, Limit, Policy};

/// The longest encoded key that is kept as it is, in bytes.
const ENCODED_MAX: usize = 96;

/// The longest name, in bytes.
const NAME_MAX: usize = 256;

/// What the rest of a name takes at most: the format, punctuation, and the names of a policy, a limit
/// and an algorithm.
const REST_MAX: usize = 1 + 7 + 64 + 64 + 14;

/// Bytes of the hash that stands for a long key.
const HASH_BYTES: usize = 16;

/// What stands in a name's last place for a minimum spacing.
pub(crate) const SPACING: &str = "min_interval";

/// Names of one key under one policy.
#[derive(Debug)]
pub(crate) struct Names {
    stem: String,
}

impl Names {
    pub(crate) fn new(prefix: &str, key: Key<'_>, policy: &Policy) -> Names {
        // The prefix alone decides the longest key, so that all names of a key treat it alike.
        let longest = NAME_MAX.saturating_sub(REST_MAX + prefix.len());
        let key = encode(key.as_bytes(), longest.min(ENCODED_MAX));
        Names { stem: format!("{prefix}:1:{{{key}}}:{}:", policy.name()) }
    }

    /// The name of one limit's state; `algorithm` is [`SPACING`] for its minimum spacing.
    pub(crate) fn of(&self, limit: &Limit, algorithm: &str) -> String {
        format!("{}{}:{algorithm}", self.stem, limit.name())
    }
}

/// The key percent-encoded, or its hash when that takes more than `longest` bytes.
fn encode(key: &[u8], longest: usize) -> String {
    let mut encoded = String::with_capacity(key.len());
    for &byte in key {
        if byte.is_ascii_alphanumeric() || b"_.~-".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            push_hex(&mut encoded, byte, b"0123456789ABCDEF");
        }
        if encoded.len() > longest {
            return hash(key);
        }
    }
    encoded
}

/// `#` and 128 bits of the key's SHA-1 in hex. `#` itself is encoded, so no short key looks like it.
///
/// The hash must be the same on every node, so it has no secret, and a caller may choose the key: it
/// must be hard to find a second key with a given hash, which for SHA-1 it is (collisions are not,
/// but whoever finds two such keys only makes them share).
fn hash(key: &[u8]) -> String {
    let digest = Sha1::from(key).digest().bytes();
    let mut hash = String::with_capacity(1 + 2 * HASH_BYTES);
    hash.push('#');
    for byte in &digest[..HASH_BYTES] {
        push_hex(&mut hash, *byte, b"0123456789abcdef");
    }
    hash
}

fn push_hex(text: &mut String, byte: u8, digits: &[u8; 16]) {
    text.push(char::from(digits[usize::from(byte >> 4)]));
    text.push(char::from(digits[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(prefix: &str, key: &[u8], policy: &str, limit: &str) -> String {
        let limit = Limit::quota(limit, "1/s").unwrap();
        let policy = Policy::new(policy, [limit.clone()]).unwrap();
        Names::new(prefix, Key::new(key).unwrap(), &policy).of(&limit, "token_bucket")
    }

    #[test]
    fn a_plain_key_is_readable() {
        assert_eq!(
            name("tidegate", b"user-7", "api", "burst"),
            "tidegate:1:{user-7}:api:burst:token_bucket"
        );
    }

    /// P45, P48: separators and braces of a key's own neither join two keys nor steer.
    #[test]
    fn separators_and_braces_in_a_key_are_encoded() {
        assert_eq!(
            name("t", b"a:{b}%#\xff", "p", "l"),
            "t:1:{a%3A%7Bb%7D%25%23%FF}:p:l:token_bucket"
        );
    }

    /// P51: keys of any length make names of at most 256 bytes, and their last byte counts.
    #[test]
    fn long_keys_are_hashed_and_stay_distinct() {
        let long = [b'x'; 1024];
        let mut other = long;
        other[1023] = b'y';
        let names: Vec<String> = [&long[..], &other[..], &long[..97], &long[..96]]
            .iter()
            .map(|key| name("tidegate", key, &"p".repeat(64), &"l".repeat(64)))
            .collect();
        assert!(names.iter().all(|name| name.len() <= 256), "{names:?}");
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{name} twice");
        }
        assert!(names[0].starts_with("tidegate:1:{#"));
        assert!(names[3].contains(&"x".repeat(96)));
    }

    #[test]
    fn a_longer_prefix_leaves_less_room_for_keys_as_they_are() {
        let name = name(&"p".repeat(70), &[b'x'; 96], &"p".repeat(64), &"l".repeat(64));
        assert!(name.len() <= 256 && name.contains('#'), "{name}");
    }
}
