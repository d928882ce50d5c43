//! Secrets: written out, or as `env:NAME` or `file:PATH`.

use std::fs::File;
use std::io::Read;

use tidegate_redis::Secret;

use super::document::Node;
use super::environment::Environment;
use super::reader::Reader;
use crate::constants::MAX_SECRET_FILE;

/// The secret that a text names or is. The error never holds the text of a secret itself.
pub(super) fn resolve(text: &str, environment: &Environment) -> Result<Secret, String> {
    if let Some(name) = text.strip_prefix("env:") {
        let value = environment.text(name);
        return value
            .map(Secret::new)
            .ok_or_else(|| "the variable named after env: is not set, or is no text".to_owned());
    }
    match text.strip_prefix("file:") {
        Some(path) => from_file(path),
        None => Ok(Secret::new(text)),
    }
}

/// The content of a file without the line end that editors leave.
fn from_file(path: &str) -> Result<Secret, String> {
    let refuse = |reason: String| format!("the file named after file: {reason}");
    let file = File::open(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let mut text = String::new();
    let read = file.take(MAX_SECRET_FILE + 1).read_to_string(&mut text);
    read.map_err(|error| refuse(format!("cannot be read: {error}")))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_SECRET_FILE {
        return Err(refuse("is larger than 64 KiB".into()));
    }
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(refuse("is empty".into())),
        secret => Ok(Secret::new(secret)),
    }
}

impl<'a> Reader<'a> {
    /// A password. The inner value is none when the text is empty, and when it is not `used`: then it
    /// is not looked up.
    pub(super) fn secret(
        &mut self,
        node: &Node<'a>,
        name: &str,
        used: bool,
    ) -> Option<Option<Secret>> {
        if node.text() == Some("") {
            return Some(None);
        }
        let (text, _) = self.scalar(node, name, "a text, env:NAME or file:PATH")?;
        if !used {
            return Some(None);
        }
        match resolve(text, self.environment) {
            Ok(secret) => Some(Some(secret)),
            Err(reason) => {
                self.refuse(node, format!("{name}: {reason}"));
                None
            }
        }
    }
}
