//! Who is being limited.

/// The bytes that name who is being limited: an address, a user, an API key.
///
/// Keys are 1 to 1024 bytes of any value. Two keys are the same only when every byte is.
///
/// # Examples
///
/// ```
/// use tidegate::{Key, KeyError};
///
/// assert_eq!(Key::new("alice")?.as_bytes(), b"alice");
/// assert_eq!(Key::new(""), Err(KeyError::Empty));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a>(&'a [u8]);

impl<'a> Key<'a> {
    /// The longest key, in bytes.
    pub const MAX_LEN: usize = 1024;

    /// The key of these bytes.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when there are no bytes or more than [`Key::MAX_LEN`].
    pub fn new<B: AsRef<[u8]> + ?Sized>(bytes: &'a B) -> Result<Key<'a>, KeyError> {
        let bytes = bytes.as_ref();
        match bytes.len() {
            0 => Err(KeyError::Empty),
            1..=Key::MAX_LEN => Ok(Key(bytes)),
            len => Err(KeyError::TooLong { len }),
        }
    }

    /// The bytes themselves.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Why bytes are no key.
///
/// # Examples
///
/// ```
/// use tidegate::{Key, KeyError};
///
/// assert_eq!(Key::new(&[0; 1025]), Err(KeyError::TooLong { len: 1025 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There are no bytes.
    #[error("key is empty; it must be 1 to 1024 bytes")]
    Empty,
    /// There are more than 1024 bytes.
    #[error("key is {len} bytes long; it must be 1 to 1024 bytes")]
    TooLong {
        /// How many bytes there are.
        len: usize,
    },
}
