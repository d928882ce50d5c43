//! The key of a request, while it is being written.

use std::fmt::{self, Display, Write};

use smallvec::SmallVec;

/// Keys up to this length lie on the stack.
const INLINE: usize = 128;

/// Where extractors write the key of a request.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::KeyBuf;
///
/// let mut key = KeyBuf::new();
/// key.push(b"user ");
/// key.write(&42);
/// assert_eq!(key.as_bytes(), b"user 42");
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyBuf(SmallVec<[u8; INLINE]>);

impl KeyBuf {
    /// A key of no bytes yet.
    #[must_use]
    pub fn new() -> KeyBuf {
        KeyBuf(SmallVec::new())
    }

    /// Adds bytes.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Adds what `value` prints.
    pub fn write(&mut self, value: &dyn Display) {
        // Writing to memory does not fail; a Display that fails by itself has written what it could.
        let _ = write!(Text(self), "{value}");
    }

    /// What was written so far.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// How many bytes were written so far.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything from byte `len` on.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Turns what was written from `start` on into a part that cannot run into its neighbours: its
    /// length, a colon, itself, a comma (a netstring).
    pub(crate) fn close_part(&mut self, start: usize) {
        let mut head = KeyBuf::new();
        head.write(&(self.0.len() - start));
        head.push(b":");
        self.0.insert_from_slice(start, &head.0);
        self.push(b",");
    }
}

/// Text goes into a key as its bytes.
struct Text<'a>(&'a mut KeyBuf);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push(text.as_bytes());
        Ok(())
    }
}
