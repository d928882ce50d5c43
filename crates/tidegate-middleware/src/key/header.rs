//! By the value of a header.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::ask::{Ask, Reason, bytes_as_key};
use crate::keybuf::KeyBuf;

/// By the value of a header, given by its lines. What has it not, empty, or more than once has no key.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::{Ask, HeaderKey, KeyBuf};
///
/// let by_user = HeaderKey::new("x-user");
/// let mut key = KeyBuf::new();
/// by_user.write([b"ann".as_slice()].into_iter(), &mut key);
/// assert_eq!(key.as_bytes(), b"ann");
/// let ask = by_user.write([].into_iter(), &mut KeyBuf::new());
/// assert!(matches!(ask, Ask::Missing(reason) if reason.as_str() == "x-user: missing"));
/// ```
#[derive(Clone, Debug)]
pub struct HeaderKey {
    hash: Option<[u8; 16]>,
    missing: Reason,
    repeated: Reason,
}

impl HeaderKey {
    /// By the value of the header with this name, as it is.
    #[must_use]
    pub fn new(name: &str) -> HeaderKey {
        let missing = Reason::from(format!("{name}: missing"));
        let repeated = Reason::from(format!("{name}: given more than once"));
        HeaderKey { hash: None, missing, repeated }
    }

    /// By 128 bits of a hash (SipHash-2-4) of the value under a secret: without it nobody who sees the
    /// store can try values out.
    #[must_use]
    pub fn hashed_with(self, secret: [u8; 16]) -> HeaderKey {
        HeaderKey { hash: Some(secret), ..self }
    }

    /// Writes the key by the lines of the header.
    pub fn write<'a>(&self, mut lines: impl Iterator<Item = &'a [u8]>, key: &mut KeyBuf) -> Ask {
        let Some(value) = lines.next().filter(|value| !value.is_empty()) else {
            return Ask::Missing(self.missing.clone());
        };
        // Two would leave it to chance which of them counts.
        if lines.next().is_some() {
            return Ask::Missing(self.repeated.clone());
        }
        match &self.hash {
            None => bytes_as_key(value, key),
            Some(secret) => {
                let mut hasher = SipHasher24::new_with_key(secret);
                hasher.write(value);
                key.push(&hasher.finish128().as_bytes());
                Ask::limit()
            }
        }
    }
}
