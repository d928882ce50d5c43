//! `tidegate replay` as a process: standard input, configurations, exit codes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

const LOG: &str = "ts,ip\n0,a\n0,a\n0,b\n";

/// Runs the command with this on standard input, away from any configuration of the surroundings.
fn replay(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("replay")
        .args(args)
        .env_clear()
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that refuses its arguments reads nothing.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the command ends")
}

fn json(output: &Output) -> serde_json::Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "no progress where no terminal is: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON and nothing else")
}

#[test]
fn standard_input_is_a_log() {
    let report = json(&replay(&["-", "--limit=1/h", "--json"], LOG));
    assert_eq!((&report["allowed"], &report["denied"]), (&2.into(), &1.into()));
    assert_eq!(report["most_denied"][0]["key"][0], "a");
}

#[test]
fn the_access_log_is_played_through_a_configured_policy() {
    let path = std::env::temp_dir().join(format!("tidegate-{}-replay.yaml", std::process::id()));
    let limit = "{ name: daily, algorithm: fixed_window, max_requests: 50, window_size: 1d }";
    let text = format!("policies:\n  web:\n    limits:\n      - {limit}\n");
    std::fs::write(&path, text).expect("a writable directory for temporary files");
    let config = path.to_str().expect("the path is UTF-8");
    let output = replay(&["access.log", "--config", config, "--policy=web", "--json"], "");
    let unknown = replay(&["access.log", "--config", config], "");
    std::fs::remove_file(&path).expect("the file is there");
    let report = json(&output);
    assert_eq!((&report["allowed"], &report["played"]), (&4_117.into(), &4_525.into()));
    assert_eq!(unknown.status.code(), Some(2));
    let text = String::from_utf8_lossy(&unknown.stderr);
    assert_eq!(text, "error: there is no policy \"default\"; there are: web\n");
}

#[test]
fn exit_codes_tell_a_wrong_question_from_a_failed_answer() {
    for (args, input, code) in [
        (&["-", "--limit=1/h"][..], "", 1),
        (&["missing.log", "--limit=1/h"], "", 1),
        (&["-", "--limit=often"], LOG, 2),
        (&["-", "--limit=1/h", "--key=user"], LOG, 2),
        (&["-", "--limit=1/h", "--policy=web"], LOG, 2),
        (&["-", "--config=missing.yaml"], LOG, 2),
        (&[], "", 2),
    ] {
        let output = replay(args, input);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}
