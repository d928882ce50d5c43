//! What configurations mean, and what is said when they are wrong.

mod arbitrary;
mod bad_numbers;
mod bad_shape;
mod command_line;
mod good;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate::Limit;
use tidegate_server::config::{Environment, read};
use tidegate_server::settings::{Note, Settings};

/// What a file of this text means, in an empty environment.
fn settings(text: &str) -> Settings {
    match read("limits.yaml", text, &Environment::default(), &[]) {
        Ok(settings) => settings,
        Err(errors) => panic!("{text}\n{errors}"),
    }
}

/// What is said about a file of this text, which is wrong.
fn errors(text: &str) -> String {
    match read("limits.yaml", text, &Environment::default(), &[]) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => errors.to_string(),
    }
}

/// Holds each text against what is said about it.
#[track_caller]
fn refused(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(errors(text), *expected, "{text}");
    }
}

/// The only limit of the policy `default`.
fn default_limit(settings: &Settings) -> Limit {
    let policy = settings.policies.lookup("default").expect("a policy");
    assert_eq!(policy.limits().len(), 1);
    policy.limits()[0].clone()
}

/// All notes in one text, a line each.
fn notes(settings: &Settings) -> String {
    let line = |note: &Note| match note {
        Note::Info(text) => format!("info: {text}\n"),
        Note::Warn(text) => format!("warn: {text}\n"),
    };
    settings.notes.iter().map(line).collect()
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-config-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file");
        path
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
