//! Why logs could not be replayed.

use std::io;

use tidegate::{LimitError, NotationError, PolicyError};

/// Why logs could not be replayed.
///
/// Lines that cannot be read are no error; they are counted in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A log cannot be opened.
    #[error("cannot open {log}: {source}")]
    Open {
        /// The log.
        log: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory was named instead of a log.
    #[error("{log} is a directory; name the logs in it, such as {log}/*.log")]
    Directory {
        /// The directory.
        log: String,
    },
    /// A log cannot be read on.
    #[error("cannot read {log} after line {line}: {source}")]
    Read {
        /// The log.
        log: String,
        /// The last line that was read.
        line: u64,
        /// What the system, or the decompression, said.
        source: io::Error,
    },
    /// There is no room for temporary files.
    #[error(
        "cannot keep what is too much for memory in {directory}: {source}; set TMPDIR to a \
             directory with room"
    )]
    Scratch {
        /// The directory for temporary files.
        directory: String,
        /// What the system said.
        source: io::Error,
    },
    /// No log holds a line.
    #[error("there is nothing to replay: {logs} has no lines")]
    Empty {
        /// The logs.
        logs: String,
    },
    /// No line can be played.
    #[error("none of the {lines} lines can be played; the first reads: {first}")]
    NothingPlayed {
        /// How many lines there are.
        lines: u64,
        /// The first line's place and what is wrong with it.
        first: String,
    },
    /// The report cannot be written.
    #[error("cannot write the report: {0}")]
    Write(#[source] io::Error),
    /// No field has a name that was asked for.
    #[error("{log} has no field {field:?}; its fields are {known}{suggestion}")]
    UnknownField {
        /// The log.
        log: String,
        /// The field asked for.
        field: String,
        /// The fields there are.
        known: String,
        /// Which was probably meant, or nothing.
        suggestion: String,
    },
    /// No field is known to hold the time.
    #[error(
        "no field of {log} is known to hold the time; name it with --time FIELD; its fields \
             are {known}"
    )]
    NoTime {
        /// The log.
        log: String,
        /// The fields there are.
        known: String,
    },
    /// A log was said to be CSV and its first line is no header.
    #[error("{log} has no CSV header; its first line must name two fields or more")]
    NoHeader {
        /// The log.
        log: String,
    },
    /// No policy has the name that was asked for.
    #[error("there is no policy {name:?}; there are: {known}{suggestion}")]
    UnknownPolicy {
        /// The policy asked for.
        name: String,
        /// The policies there are.
        known: String,
        /// Which was probably meant, or nothing.
        suggestion: String,
    },
    /// A limit on the command line is none.
    #[error("--limit {text:?}: {reason}")]
    Limit {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: LimitFault,
    },
    /// The limits on the command line make no policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl ReplayError {
    /// The exit code of the process: 2 when the question was wrong, 1 when the answer failed.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            ReplayError::UnknownField { .. }
            | ReplayError::NoTime { .. }
            | ReplayError::NoHeader { .. }
            | ReplayError::UnknownPolicy { .. }
            | ReplayError::Limit { .. }
            | ReplayError::Policy(_) => 2,
            _ => 1,
        }
    }

    /// No room for temporary files.
    pub(super) fn scratch(source: io::Error) -> ReplayError {
        ReplayError::Scratch { directory: std::env::temp_dir().display().to_string(), source }
    }
}

/// What is wrong with a limit on the command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitFault {
    /// The first word is no algorithm.
    #[error(
        "no algorithm is named {0:?}; use token_bucket, fixed_window, rolling_window or \
             sliding_window"
    )]
    Algorithm(String),
    /// A window has a burst.
    #[error("burst belongs to token_bucket; a window's burst is its count")]
    Burst,
    /// The rate or a time is none.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// The numbers make no limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// The known name nearest to one that is not known, as the end of an error's text.
pub(super) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, known)) if score > 0.8 => format!("; did you mean {known:?}?"),
        _ => String::new(),
    }
}
