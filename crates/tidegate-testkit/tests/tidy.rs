//! The mechanical rules of the house: sizes, words, and which room may look into which.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file that are not tests.
const FILE_LINES: usize = 600;
/// The most lines of a function.
const FUNCTION_LINES: usize = 70;

/// Which modules a module may name: everything to the right is below it. A module may name those
/// of its own room.
const ARROWS: &[(&str, &str, &[&str])] = &[
    ("tidegate/src/time.rs", "crate::", &[]),
    ("tidegate/src/mode.rs", "crate::", &[]),
    ("tidegate/src/name.rs", "crate::", &[]),
    ("tidegate/src/key.rs", "crate::", &[]),
    ("tidegate/src/layout.rs", "crate::", &[]),
    ("tidegate/src/clock", "crate::", &["time"]),
    ("tidegate/src/amount", "crate::", &["amount", "time"]),
    ("tidegate/src/notation.rs", "crate::", &["amount", "time"]),
    ("tidegate/src/algorithm", "crate::", &["algorithm", "amount", "limit", "mode", "time"]),
    ("tidegate/src/limit.rs", "crate::", &["algorithm", "amount", "name", "notation", "time"]),
    ("tidegate/src/policy.rs", "crate::", &["algorithm", "amount", "layout", "limit", "name"]),
    ("tidegate/src/check.rs", "crate::", &["amount", "key", "mode", "policy"]),
    ("tidegate/src/decision.rs", "crate::", &["amount", "time"]),
    ("tidegate/src/fields.rs", "crate::", &["amount", "decision", "limit", "policy", "time"]),
    ("tidegate/src/store.rs", "crate::", &["check", "decision", "time"]),
    (
        "tidegate/src/memory",
        "crate::",
        &[
            "algorithm",
            "amount",
            "check",
            "clock",
            "decision",
            "layout",
            "memory",
            "mode",
            "policy",
            "store",
            "time",
        ],
    ),
    (
        "tidegate/src/observer",
        "crate::",
        &["check", "decision", "limit", "mode", "policy", "store", "time"],
    ),
    ("tidegate/src/timer", "crate::", &["clock", "time"]),
    (
        "tidegate/src/pacer",
        "crate::",
        &[
            "amount", "check", "decision", "key", "limit", "observer", "policy", "store", "time",
            "timer",
        ],
    ),
    ("tidegate-middleware/src/keybuf.rs", "crate::", &[]),
    ("tidegate-middleware/src/refused.rs", "crate::", &[]),
    ("tidegate-middleware/src/marks.rs", "crate::", &[]),
    ("tidegate-middleware/src/ip.rs", "crate::", &["keybuf"]),
    ("tidegate-middleware/src/forwarded", "crate::", &["forwarded", "ip"]),
    ("tidegate-middleware/src/ask.rs", "crate::", &["ip", "keybuf"]),
    ("tidegate-middleware/src/key", "crate::", &["ask", "forwarded", "ip", "keybuf"]),
    ("tidegate-middleware/src/asked.rs", "crate::", &["ask", "keybuf"]),
    ("tidegate-middleware/src/store.rs", "crate::", &["asked", "refused"]),
    ("tidegate-middleware/src/taken.rs", "crate::", &["asked"]),
    ("tidegate-middleware/src/problem.rs", "crate::", &["refused"]),
    ("tidegate-middleware/src/answers.rs", "crate::", &["asked", "marks", "problem", "refused"]),
    ("tidegate-tower/src/head.rs", "crate::", &[]),
    ("tidegate-tower/src/http.rs", "crate::", &[]),
    ("tidegate-tower/src/key/", "crate::", &["head"]),
    ("tidegate-tower/src/key.rs", "crate::", &["head"]),
    ("tidegate-tower/src/pace", "crate::", &["pace"]),
    ("tidegate-tower/src/rules.rs", "crate::", &["head", "key"]),
    ("tidegate-tower/src/prelude.rs", "crate::", &["head", "key"]),
    ("tidegate-tower/src/grpc", "crate::", &["grpc", "head", "key", "rules"]),
    ("tidegate-tower/src/hook", "crate::", &["head", "hook"]),
    ("tidegate-tower/src/core.rs", "crate::", &["grpc", "head", "hook", "http", "rules"]),
    ("tidegate-actix/src/http.rs", "crate::", &[]),
    ("tidegate-actix/src/key", "crate::", &[]),
    ("tidegate-actix/src/rules.rs", "crate::", &["key"]),
    ("tidegate-actix/src/prelude.rs", "crate::", &["key"]),
    ("tidegate-actix/src/hook", "crate::", &["hook"]),
    ("tidegate-actix/src/body.rs", "crate::", &["hook"]),
    ("tidegate-actix/src/core.rs", "crate::", &["hook", "http", "rules"]),
    ("tidegate-metrics/src/sharded.rs", "crate::", &[]),
    ("tidegate-metrics/src/histogram.rs", "crate::", &["sharded"]),
    ("tidegate-metrics/src/page.rs", "crate::", &["histogram"]),
    ("tidegate-metrics/src/store_errors.rs", "crate::", &["page"]),
    ("tidegate-metrics/src/decisions.rs", "crate::", &["histogram", "page", "sharded"]),
    ("tidegate-metrics/src/index.rs", "crate::", &["decisions"]),
    ("tidegate-server/src/settings.rs", "crate::", &[]),
    ("tidegate-server/src/constants.rs", "crate::", &[]),
    ("tidegate-server/src/logging.rs", "crate::", &[]),
    ("tidegate-server/src/proto", "crate::", &[]),
    ("tidegate-server/src/shutdown.rs", "crate::", &[]),
    ("tidegate-server/src/config", "crate::", &["config", "settings"]),
    ("tidegate-server/src/explain.rs", "crate::", &["settings"]),
    ("tidegate-server/src/backend.rs", "crate::", &["settings"]),
    ("tidegate-server/src/metrics", "crate::", &["metrics", "settings"]),
    ("tidegate-server/src/readiness.rs", "crate::", &["constants"]),
    ("tidegate-server/src/service.rs", "crate::", &["backend", "metrics", "readiness", "settings"]),
    (
        "tidegate-server/src/face",
        "crate::",
        &["constants", "face", "proto", "service", "settings", "shutdown"],
    ),
    ("tidegate-server/src/accept", "crate::", &["accept", "constants", "settings", "shutdown"]),
    (
        "tidegate-server/src/serve",
        "crate::",
        &[
            "accept",
            "backend",
            "constants",
            "explain",
            "face",
            "logging",
            "serve",
            "service",
            "settings",
            "shutdown",
        ],
    ),
    ("tidegate-server/src/cli", "crate::", &["cli", "config", "explain", "serve", "settings"]),
];

/// What every module may name: bounds lie below all of them.
const BELOW_ALL: &str = "constants";

/// Words that have no place below a face.
const FACE_WORDS: &[&str] = &["StatusCode", "tonic::", "hyper::", "prost::"];

/// Rooms below the faces.
const BELOW_FACES: &[&str] = &[
    "tidegate/src",
    "tidegate-middleware/src",
    "tidegate-redis/src",
    "tidegate-server/src/service.rs",
    "tidegate-server/src/backend.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Every file below `folder` with this ending, except what is built, generated or hidden.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let built = name == "target" || name.starts_with('.') || name == "generated";
            match path.is_dir() {
                true if !built => folders.push(path),
                false if name.ends_with(ending) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// A source file by its place in the project.
struct Source {
    place: String,
    text: String,
}

impl Source {
    /// What stands before the test module, by line.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.text.split("#[cfg(test)]").next().unwrap_or_default();
        code.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    /// Whether the whole file is tests.
    fn is_test(&self) -> bool {
        ["/tests/", "/benches/", "/examples/"].iter().any(|part| self.place.contains(part))
            || self.place.starts_with("crates/tidegate-testkit/")
    }
}

fn sources() -> Vec<Source> {
    let root = root();
    let read = |path: PathBuf| Source {
        place: path.strip_prefix(&root).expect("inside").display().to_string(),
        text: fs::read_to_string(&path).expect("a source file is text"),
    };
    files(&root.join("crates"), ".rs").into_iter().map(read).collect()
}

/// Fails with all that was found, if anything was.
fn nothing(found: impl IntoIterator<Item = String>, rule: &str) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

#[test]
fn no_file_outgrows_its_room() {
    let long = sources().into_iter().filter_map(|source| {
        let lines = source.code().count();
        (lines > FILE_LINES).then(|| format!("{}: {lines} lines", source.place))
    });
    nothing(long, "a file has at most 600 lines that are not tests");
}

/// Whether a line begins a function, whatever stands before `fn`.
fn begins_function(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut before =
        ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern"].iter();
    words.find(|word| !before.any(|known| known == word)) == Some("fn")
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let mut found = Vec::new();
    let mut seen = 0;
    for source in sources() {
        // Where the function that is open began, and how far it is indented.
        let mut open: Option<(usize, usize)> = None;
        for (at, line) in source.text.lines().enumerate() {
            let head = line.trim_start();
            let indent = line.len() - head.len();
            if open.is_none() && begins_function(head) {
                open = Some((at, indent));
                seen += 1;
            }
            let Some((start, depth)) = open else { continue };
            let declared = indent == depth && head.ends_with(';');
            let closed = indent == depth && head.ends_with('}') && (at == start || head == "}");
            if declared || closed {
                if at - start > FUNCTION_LINES {
                    found.push(format!("{}:{}: {} lines", source.place, start + 1, at - start));
                }
                open = None;
            }
        }
    }
    assert!(seen > 500, "functions are found: {seen}");
    nothing(found, "a function has at most 70 lines");
}

#[test]
fn functions_are_found_behind_any_words() {
    for line in ["fn a()", "pub(crate) async fn b<T>()", "pub const fn c()", "pub(super) fn d("] {
        assert!(begins_function(line), "{line}");
    }
    for line in ["// fn a()", "let fn_name = 1;", "pub struct Fn;"] {
        assert!(!begins_function(line), "{line}");
    }
}

#[test]
fn nothing_is_left_to_do_and_nothing_unwraps_without_a_reason() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        for (at, line) in source.code() {
            let code = line.trim_start();
            let comment = code.starts_with("//");
            let left =
                ["todo!(", "unimplemented!(", "dbg!("].iter().any(|word| code.contains(word));
            let unwraps = code.contains(".unwrap()") && !comment;
            if left && !comment || unwraps {
                found.push(format!("{}:{at}: {code}", source.place));
            }
        }
    }
    nothing(found, "no todo!, dbg! or unwrap() outside tests");
}

#[test]
fn modules_are_nouns_in_files_of_their_own() {
    let banned =
        ["mod.rs", "utils.rs", "util.rs", "common.rs", "types.rs", "helpers.rs", "misc.rs"];
    let name = |place: &str| place.rsplit('/').next().unwrap_or_default().to_owned();
    let found =
        sources().into_iter().filter(|source| banned.contains(&name(&source.place).as_str()));
    nothing(found.map(|source| source.place), "foo.rs + foo/, never mod.rs, no utils");
}

#[test]
fn rooms_look_only_downwards() {
    let mut found = Vec::new();
    for source in sources() {
        let of_room = |(room, ..): &&(&str, &str, &[&str])| source.place.contains(*room);
        let Some((_, prefix, below)) = ARROWS.iter().find(of_room) else {
            continue;
        };
        for (at, line) in source.code().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for named in line.split(prefix).skip(1) {
                let module: String =
                    named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let is_module = module.starts_with(|c: char| c.is_ascii_lowercase());
                let known = module == BELOW_ALL || below.contains(&module.as_str());
                if is_module && !known {
                    found.push(format!("{}:{at}: names {module}", source.place));
                }
            }
        }
    }
    nothing(found, "arrows between modules point down only");
}

#[test]
fn nothing_below_a_face_knows_a_protocol() {
    let mut found = Vec::new();
    for source in sources() {
        if !BELOW_FACES.iter().any(|room| source.place.contains(room)) {
            continue;
        }
        for (at, line) in source.code().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if FACE_WORDS.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{at}: {}", source.place, line.trim()));
            }
        }
    }
    nothing(found, "no status code, HTTP or protobuf type below face/");
}

#[test]
fn the_library_stands_alone() {
    let manifest =
        fs::read_to_string(root().join("crates/tidegate/Cargo.toml")).expect("a manifest");
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let dependencies = dependencies.split("[dev-dependencies]").next().unwrap_or_default();
    // A timer that sleeps on a runtime is there for those who ask for it.
    let always: Vec<&str> =
        dependencies.lines().filter(|line| !line.contains("optional = true")).collect();
    assert!(!always.is_empty() && !manifest.contains("default = ["), "nothing is on by default");
    for heavy in ["tokio", "hyper", "tonic", "redis", "serde", "prometheus"] {
        let named = always.iter().any(|line| line.contains(heavy));
        assert!(!named, "tidegate must not depend on {heavy}");
    }
}

#[test]
fn documents_speak_of_the_project_alone() {
    let root = root();
    let mut found = Vec::new();
    let registry = ["index.", "crates", ".io"].concat();
    let hosts = [registry.as_str(), "static.crates", "pypi.org", "registry.npmjs", "deb.debian"];
    let words = ["/work/", "/root/", "../shared", "helper session", "subagent"];
    let texts = [".md", ".rs", ".toml", ".yaml", ".sh", ".proto", ".lua", ".py"];
    for path in texts.iter().flat_map(|ending| files(&root, ending)) {
        let place = path.strip_prefix(&root).expect("inside").display().to_string();
        if place.ends_with("tests/tidy.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let lines = text.lines().enumerate();
        for (at, line) in lines {
            if hosts.iter().chain(&words).any(|word| line.contains(word)) {
                found.push(format!("{place}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    nothing(found, "no registry host, no path of one machine, no word of how it was made");
}
