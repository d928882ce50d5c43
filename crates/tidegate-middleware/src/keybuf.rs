//! The key of a request, while it is being written.

use std::fmt::{self, Display, Write};

/// Keys up to this length lie on the stack.
const INLINE: usize = 64;

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
#[derive(Clone, Debug)]
pub struct KeyBuf {
    inline: [u8; INLINE],
    /// How many bytes lie inline; none once they have moved.
    len: usize,
    /// All of them, when they are more than lie inline.
    moved: Vec<u8>,
}

impl Default for KeyBuf {
    fn default() -> KeyBuf {
        KeyBuf::new()
    }
}

impl KeyBuf {
    /// A key of no bytes yet.
    #[must_use]
    #[inline]
    pub const fn new() -> KeyBuf {
        KeyBuf { inline: [0; INLINE], len: 0, moved: Vec::new() }
    }

    /// Adds bytes.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.inline.get_mut(self.len..end) {
            Some(room) if self.moved.is_empty() => {
                room.copy_from_slice(bytes);
                self.len = end;
            }
            _ => self.push_moved(bytes),
        }
    }

    /// Adds the first `len` bytes of two words, whose first byte is the lowest.
    ///
    /// Where there is room both are put down whole: a processor that soon reads a word which it has
    /// written in pieces waits for them.
    #[inline]
    pub(crate) fn push_words(&mut self, words: [u64; 2], len: usize) {
        let bytes = words.map(u64::to_le_bytes);
        let (room, _) = self.inline.get_mut(self.len..).unwrap_or_default().as_chunks_mut();
        match room {
            [first, second, ..] if self.moved.is_empty() => {
                [*first, *second] = bytes;
                self.len += len;
            }
            _ => self.push(&bytes.as_flattened()[..len]),
        }
    }

    #[cold]
    fn push_moved(&mut self, bytes: &[u8]) {
        self.moved.extend_from_slice(&self.inline[..self.len]);
        self.len = 0;
        self.moved.extend_from_slice(bytes);
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
        if self.moved.is_empty() { &self.inline[..self.len] } else { &self.moved }
    }

    fn as_bytes_mut(&mut self) -> &mut [u8] {
        if self.moved.is_empty() { &mut self.inline[..self.len] } else { &mut self.moved }
    }

    /// How many bytes were written so far.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether nothing was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything from byte `len` on.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.moved.truncate(len);
        self.len = self.len.min(len);
    }

    /// Turns what was written from `start` on into a part that cannot run into its neighbours: its
    /// length, a colon, itself, a comma (a netstring).
    pub(crate) fn close_part(&mut self, start: usize) {
        let end = self.len();
        self.write(&(end - start));
        self.push(b":");
        let head = self.len() - end;
        self.as_bytes_mut()[start..].rotate_right(head);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// However much is written, it is all there, and what is cut off is gone.
    #[test]
    fn a_key_grows_from_the_stack_to_the_heap() {
        for total in [0, 1, INLINE - 1, INLINE, INLINE + 1, 5 * INLINE] {
            let bytes: Vec<u8> = (0..total).map(|byte| byte.to_le_bytes()[0]).collect();
            for step in [1, 7, INLINE, 1_000] {
                let mut key = KeyBuf::new();
                bytes.chunks(step).for_each(|chunk| key.push(chunk));
                assert_eq!(key.as_bytes(), bytes, "{total} by {step}");
                key.truncate(total / 2);
                key.push(b"end");
                assert_eq!(key.as_bytes(), [&bytes[..total / 2], b"end"].concat());
            }
        }
    }

    #[test]
    fn a_closed_part_is_a_netstring() {
        for len in [0, 5, INLINE] {
            let mut key = KeyBuf::new();
            key.push(b"before ");
            key.push(&vec![b'x'; len]);
            key.close_part(7);
            let expected = format!("before {len}:{},", "x".repeat(len));
            assert_eq!(key.as_bytes(), expected.as_bytes());
        }
    }
}
