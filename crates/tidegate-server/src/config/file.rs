//! Finding and reading the file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Inputs;
use super::environment;
use super::error::ConfigError;
use super::excerpt::position;
use crate::constants::MAX_CONFIG_FILE;

/// The file that is read when none is named and it is there.
const UNNAMED: &str = "config.yaml";

/// Where the configuration comes from.
pub(super) enum Source {
    /// A file, by the name it was given.
    File { name: String, text: String },
    /// Nowhere: the defaults hold.
    BuiltIn,
}

/// Finds the file and reads it.
pub(super) fn find(inputs: &Inputs<'_>) -> Result<Source, ConfigError> {
    if let Some(path) = &inputs.file {
        return read(path).map_err(|reason| failed(path, reason, "on the command line"));
    }
    if let Some(path) = inputs.environment.value(environment::FILE) {
        let path = PathBuf::from(path);
        return read(&path).map_err(|reason| failed(&path, reason, "by TIDEGATE_CONFIG"));
    }
    let path = inputs.directory.join(UNNAMED);
    match read(&path) {
        Ok(source) => Ok(source),
        Err(Reason::Io(error)) if is_absent(&error) => Ok(Source::BuiltIn),
        Err(reason) => Err(failed(&path, reason, "by no one, but is there")),
    }
}

/// Why a file could not be read.
enum Reason {
    Io(io::Error),
    TooLarge,
    NotUtf8 { before: String },
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read(path: &Path) -> Result<Source, Reason> {
    let file = File::open(path).map_err(Reason::Io)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, also where no length is known.
    let read = file.take(MAX_CONFIG_FILE + 1).read_to_end(&mut bytes);
    if read.map_err(Reason::Io)? as u64 > MAX_CONFIG_FILE {
        return Err(Reason::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        Reason::NotUtf8 { before }
    })?;
    let name = path.display().to_string();
    Ok(Source::File { name, text })
}

fn failed(path: &Path, reason: Reason, named: &str) -> ConfigError {
    let name = path.display();
    let whole = |reason: String, help: String| ConfigError {
        place: name.to_string(),
        reason,
        excerpt: None,
        help: Some(help),
    };
    match reason {
        Reason::Io(error) => {
            whole(format!("cannot be read: {error}"), format!("this file was named {named}"))
        }
        Reason::TooLarge => {
            whole("is larger than 64 MiB".into(), "split it between several instances".into())
        }
        Reason::NotUtf8 { before } => {
            let at = position(&before, before.len());
            ConfigError {
                place: format!("{name}:{}:{}", at.line, at.column),
                reason: "not UTF-8 from here on".into(),
                excerpt: None,
                help: Some("save the file as UTF-8".into()),
            }
        }
    }
}
