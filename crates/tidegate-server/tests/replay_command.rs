//! `tidegate replay` as a process: standard input, configurations, exit codes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tidegate_server::config::{Environment, read};

const LOG: &str = "ts,ip\n0,a\n0,a\n0,b\n";

/// Runs the command with this on standard input, away from any configuration of the surroundings.
fn replay(args: &[&str], input: &str) -> Output {
    replay_in("UTC", args, input)
}

/// The same in this time zone.
fn replay_in(zone: &str, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("replay")
        .args(args)
        .env_clear()
        .env("TZ", zone)
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

/// P42: a day is UTC's, whatever the process's time zone.
#[test]
fn the_time_zone_changes_no_decision() {
    let last = "2026-12-01T23:59:59Z,a\n".repeat(3);
    let log = format!("ts,ip\n{last}2026-12-02T00:00:00Z,a\n");
    for zone in ["UTC", "Asia/Kolkata"] {
        let report = json(&replay_in(zone, &["-", "--limit=fixed_window 2/day", "--json"], &log));
        // Allowed, allowed, denied; and allowed again on the next day.
        assert_eq!((&report["allowed"], &report["denied"]), (&3.into(), &1.into()), "{zone}");
        let denied = &report["most_denied"][0];
        assert_eq!(denied["first_denied"], "2026-12-01T23:59:59Z", "{zone}");
    }
}

/// What a configuration may not say, the command line may not say either.
#[test]
fn a_rate_that_cannot_be_counted_is_refused_as_check_refuses_it() {
    let output = replay(&["-", "--limit=7/year burst 1000000"], LOG);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let quota = "policies: { a: { limits: [{ name: a, quota: 7/year burst 1000000 }] } }";
    let errors = read("limits.yaml", quota, &Environment::default(), &[]).expect_err("too fine");
    let reason = text.trim_end().rsplit_once("burst 1000000\": ").expect("a reason").1;
    assert!(errors.to_string().contains(reason), "{errors}{text}");
}

/// A rate that a configuration rounds is told, as `check` tells it.
#[test]
fn a_rate_that_was_rounded_is_told() {
    let path = std::env::temp_dir().join(format!("tidegate-{}-near.yaml", std::process::id()));
    let limit = "{ name: a, rate: 3.14159265358979, capacity: 1000000 }";
    let text = format!("policies: {{ web: {{ limits: [{limit}] }} }}");
    std::fs::write(&path, text).expect("a writable directory for temporary files");
    let config = path.to_str().expect("the path is UTF-8");
    let output = replay(&["-", "--config", config, "--policy=web"], LOG);
    std::fs::remove_file(&path).expect("the file is there");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("note: limit a: a rate of 3.14159265358979 per second"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
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
