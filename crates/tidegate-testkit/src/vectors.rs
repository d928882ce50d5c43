//! Replays facts from other limiters' tests and documents on a store.
//!
//! A file of vectors has `"schema": "rl-vectors/1"` and a list of `cases` (or of `sequences`, whose
//! limit changes between steps): a limit, then steps with a time, an operation and what must come
//! out. A case with an operation or a number that Tidegate does not have is skipped whole, with the
//! reason; so are the few where the contract decides otherwise. That is decided before a step is
//! played, and of the project's own files the skipped cases are known one by one.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::rig::Rig;

mod case;
mod player;

use case::{Case, Skip};

/// What the files of this project, and those that others bring along, call themselves.
const SCHEMA: &str = "rl-vectors/1";

/// The project's own files.
const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors");

/// Which of their cases are skipped, and why, in order.
const OWN_SKIPPED: &str = include_str!("../vectors/skipped.txt");

/// Where the vectors are: the directory that `TIDEGATE_VECTORS` names, else the project's own.
#[must_use]
pub fn directory() -> PathBuf {
    std::env::var_os("TIDEGATE_VECTORS").map_or_else(|| OWN.into(), PathBuf::from)
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
    let mut report = Report { are_own: directory == Path::new(OWN), ..Report::default() };
    for path in files(directory) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let file: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        if file["schema"] == SCHEMA {
            let lists = ["cases", "sequences"].map(|name| file[name].as_array());
            let cases: Vec<&Value> = lists.into_iter().flatten().flatten().collect();
            report.play_file(rig, &path, &cases);
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
    /// Whether these are the project's own files.
    are_own: bool,
    passed: Vec<String>,
    failed: Vec<(String, String)>,
    skipped: Vec<(String, String)>,
    /// Files with cases for us of which not one step was played.
    idle: Vec<String>,
    steps: usize,
}

impl Report {
    /// Checks that every case that was played passed, that every file with cases for Tidegate had at
    /// least one step played, and that of the project's own files no case was skipped but those in
    /// `vectors/skipped.txt`, for the reasons given there.
    ///
    /// # Panics
    ///
    /// When one did not, with the whole report.
    pub fn assert_holds(&self) {
        assert!(self.failed.is_empty() && self.idle.is_empty(), "{self}");
        assert!(self.steps > 0, "no step was played\n{self}");
        if self.are_own {
            let skipped = self.skipped.iter().map(|(id, reason)| format!("{id}: {reason}\n"));
            assert_eq!(skipped.collect::<String>(), OWN_SKIPPED, "other cases are skipped");
        }
    }

    fn play_file<R: Rig>(&mut self, rig: &R, path: &Path, cases: &[&Value]) {
        let before = self.steps;
        for &value in cases {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rig::MemoryRig;

    /// A report on one case, of a limit of three a minute.
    fn report(algorithm: &str, steps: &Value) -> Report {
        let case = json!({
            "id": "one",
            "algorithm": algorithm,
            "time_unit": "s",
            "params": { "limit": 3, "period": 60 },
            "steps": steps,
        });
        let mut report = Report::default();
        report.play_file(&MemoryRig::new(), Path::new("one.json"), &[&case]);
        report
    }

    #[test]
    fn wrong_answer_is_a_failure_whatever_the_dialect() {
        for algorithm in ["sliding_counter", "sliding_counter_floor_prev", "sliding_log"] {
            let step =
                |allow| json!([{ "t": 0, "op": "take", "cost": 2, "expect": { "allow": allow } }]);
            let right = report(algorithm, &step(true));
            assert_eq!((right.passed.len(), right.failed.len()), (1, 0), "{algorithm}: {right}");
            let wrong = report(algorithm, &step(false));
            assert_eq!((wrong.skipped.len(), wrong.failed.len()), (0, 1), "{algorithm}: {wrong}");
        }
    }

    #[test]
    fn limit_of_a_step_replaces_the_one_before() {
        let step = |limit, left| {
            let expect = json!({ "allow": true, "limit": limit, "remaining": left });
            json!({ "t": 0, "op": "take", "limit": limit, "expect": expect })
        };
        let changing = report("fixed_window_lazy", &json!([step(3, 2), step(9, 7), step(4, 1)]));
        assert_eq!((changing.passed.len(), changing.steps), (1, 3), "{changing}");
    }
}
