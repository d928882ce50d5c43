//! What is wrong with a configuration, said so that it can be put right.

use std::fmt;

use super::excerpt::Excerpt;
use crate::constants::{MAX_FAULTS_SHOWN, MAX_FAULTS_SOUGHT};

/// Everything that is wrong with a configuration; at least one fault.
///
/// Displays as one paragraph for each fault: where it is, the reason, the line with the place
/// marked, and what would be right. Secrets in the line are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    faults: Vec<ConfigError>,
    more: usize,
}

impl ConfigErrors {
    /// A configuration with one fault.
    pub(super) fn one(fault: ConfigError) -> ConfigErrors {
        ConfigErrors { faults: vec![fault], more: 0 }
    }

    /// Nothing wrong yet.
    pub(super) fn none() -> ConfigErrors {
        ConfigErrors { faults: Vec::new(), more: 0 }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether further faults are counted, and not shown.
    pub(super) fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS_SHOWN
    }

    /// Whether no further faults are worth looking for.
    pub(super) fn are_enough(&self) -> bool {
        self.count() >= MAX_FAULTS_SOUGHT
    }

    /// Adds a fault; it is only made when it will be shown.
    pub(super) fn push(&mut self, fault: impl FnOnce() -> ConfigError) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.faults.push(fault());
        }
    }

    /// How many faults were found; after the first thousand no more are looked for.
    #[must_use]
    pub fn count(&self) -> usize {
        self.faults.len() + self.more
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.faults.iter().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        match self.more {
            0 => Ok(()),
            more if self.are_enough() => write!(f, "\nand at least {more} more like these\n"),
            more => write!(f, "\nand {more} more like these\n"),
        }
    }
}

impl std::error::Error for ConfigErrors {}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigError {
    /// `file:line:column`, a variable, a flag, or a file as a whole.
    pub(super) place: String,
    pub(super) reason: String,
    pub(super) excerpt: Option<Excerpt>,
    /// What would be right.
    pub(super) help: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.place, self.reason)?;
        let margin = self.excerpt.as_ref().map_or(1, Excerpt::margin);
        if let Some(excerpt) = &self.excerpt {
            write!(f, "{excerpt}")?;
        }
        match &self.help {
            Some(help) => writeln!(f, "{:margin$} = {help}", ""),
            None => Ok(()),
        }
    }
}
