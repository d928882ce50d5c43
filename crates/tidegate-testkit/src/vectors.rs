//! Replays facts from other limiters' tests and documents on a store.
//!
//! A file of vectors has `"schema": "rl-vectors/1"` and a list of `cases`: a limit, then steps with
//! a time, an operation and what must come out. A case with an operation or a number that Tidegate
//! does not have is skipped whole, with the reason; so are the few where the contract decides
//! otherwise.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::rig::Rig;

mod case;
mod player;

use case::{Case, Skip};

/// What the files of this project, and those that others bring along, call themselves.
const SCHEMA: &str = "rl-vectors/1";

/// Where the vectors are: the directory that `TIDEGATE_VECTORS` names, else the project's own.
#[must_use]
pub fn directory() -> PathBuf {
    let own = || concat!(env!("CARGO_MANIFEST_DIR"), "/vectors").into();
    std::env::var_os("TIDEGATE_VECTORS").map_or_else(own, PathBuf::from)
}

/// Plays every case of every file of vectors in a directory.
///
/// # Panics
///
/// When the directory or a file in it cannot be read.
///
/// # Examples
///
/// ```
/// use tidegate_testkit::{MemoryRig, vectors};
///
/// let report = vectors::play(&MemoryRig::new(), &vectors::directory());
/// println!("{report}");
/// report.assert_holds();
/// ```
pub fn play<R: Rig>(rig: &R, directory: &Path) -> Report {
    let mut report = Report::default();
    for path in files(directory) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let file: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let cases = file["cases"].as_array();
        if let (Some(SCHEMA), Some(cases)) = (file["schema"].as_str(), cases) {
            report.play_file(rig, &path, cases);
        }
    }
    report
}

/// The JSON files of a directory, in order of their names.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{directory:?}: {e}"));
    let paths = entries.map(|entry| entry.expect("a directory entry").path());
    let is_json = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let mut files: Vec<PathBuf> = paths.filter(is_json).collect();
    files.sort();
    files
}

/// What came of every case.
#[derive(Debug, Default)]
pub struct Report {
    passed: Vec<String>,
    failed: Vec<(String, String)>,
    skipped: Vec<(String, String)>,
    /// Files with cases for us of which not one step was played.
    idle: Vec<String>,
    steps: usize,
}

impl Report {
    /// Checks that every case that was played passed, and that every file with cases for Tidegate
    /// had at least one step played.
    ///
    /// # Panics
    ///
    /// When one did not, with the whole report.
    pub fn assert_holds(&self) {
        assert!(self.failed.is_empty() && self.idle.is_empty(), "{self}");
        assert!(self.steps > 0, "no step was played\n{self}");
    }

    fn play_file<R: Rig>(&mut self, rig: &R, path: &Path, cases: &[Value]) {
        let before = self.steps;
        for value in cases {
            let id = value["id"].as_str().unwrap_or("a case without id").to_owned();
            let played = Case::read(value, rig.tick()).and_then(|case| {
                self.steps += case.steps.len();
                player::play(rig, &case)
            });
            match played {
                Ok(()) => self.passed.push(id),
                Err(Skip::Because(reason)) => self.skipped.push((id, reason)),
                Err(Skip::Wrong(difference)) => self.failed.push((id, difference)),
            }
        }
        let ours = cases.iter().any(|case| case::is_our_dialect(&case["algorithm"]));
        if ours && self.steps == before {
            self.idle.push(path.display().to_string());
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed, skipped) = (&self.passed, &self.failed, &self.skipped);
        for id in passed {
            writeln!(f, "passed  {id}")?;
        }
        for (id, reason) in skipped {
            writeln!(f, "skipped {id}: {reason}")?;
        }
        for (id, difference) in failed {
            writeln!(f, "FAILED  {id}: {difference}")?;
        }
        for path in &self.idle {
            writeln!(f, "FAILED  {path}: not one step was played")?;
        }
        let counts = [passed.len(), failed.len(), skipped.len(), self.steps];
        let [passed, failed, skipped, steps] = counts;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped; {steps} steps")
    }
}
