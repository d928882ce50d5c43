//! Names of policies and limits.

use std::fmt;
use std::sync::Arc;

/// The longest name, in bytes.
const MAX_LEN: usize = 64;

/// The name of a policy or a limit: 1 to 64 of `A-Z a-z 0-9 _ . -`.
///
/// Cloning is cheap. Names are part of where a store keeps state, so renaming a limit starts it
/// anew.
///
/// # Examples
///
/// ```
/// use tidegate::Name;
///
/// assert_eq!(Name::new("per-user.daily")?.as_str(), "per-user.daily");
/// assert!(Name::new("per user").is_err());
/// # Ok::<(), tidegate::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The name with this text.
    ///
    /// # Errors
    ///
    /// [`NameError`] when the text is empty, longer than 64, or holds another character.
    pub fn new(text: &str) -> Result<Name, NameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if text.is_empty() || text.len() > MAX_LEN || !text.bytes().all(allowed) {
            return Err(NameError { text: text.chars().take(MAX_LEN + 1).collect() });
        }
        Ok(Name(text.into()))
    }

    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no name.
///
/// # Examples
///
/// ```
/// let error = tidegate::Name::new("a b").expect_err("a space");
/// assert_eq!(error.to_string(), "\"a b\" is no name; use 1 to 64 of A-Z a-z 0-9 _ . -");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no name; use 1 to 64 of A-Z a-z 0-9 _ . -")]
pub struct NameError {
    text: String,
}
