//! What a replay needs of memory does not grow with the log.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LINES: u32 = 300_000;

/// The most that the process may ever hold, in kilobytes.
const MOST: u64 = 120_000;

/// The highest memory of a running process so far, in kilobytes; nothing once it has ended.
fn peak(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// A log in which every line but a few has a key of its own, out of order.
fn write_log(path: &std::path::Path) -> std::io::Result<()> {
    let mut log = BufWriter::new(File::create(path)?);
    writeln!(log, "ts,ip,agent")?;
    let mut line = String::new();
    for number in 0..LINES {
        line.clear();
        let (second, key) = (number * 7 % 86_400, number * 7_919 % (LINES - 1_000));
        // Writing to a string cannot fail.
        let _ = write!(line, "{second},client-{key:040},{number:0100}");
        writeln!(log, "{line}")?;
    }
    log.flush()
}

#[test]
fn a_log_of_many_keys_is_played_in_bounded_memory() {
    let path = std::env::temp_dir().join(format!("tidegate-{}-many.csv", std::process::id()));
    write_log(&path).expect("a writable directory for temporary files");
    let size = fs::metadata(&path).expect("the log").len();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["replay", path.to_str().expect("the path is UTF-8"), "--limit=1/day", "--json"])
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut highest = 0;
    // The kernel remembers the peak: only the last look before the end matters.
    while let Some(peak) = peak(&child) {
        highest = peak;
        std::thread::sleep(Duration::from_millis(10));
        if child.try_wait().expect("a child").is_some() {
            break;
        }
    }
    let output = child.wait_with_output().expect("the command ends");
    fs::remove_file(&path).expect("the file is there");
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["played"], LINES);
    assert_eq!(report["keys"], LINES - 1_000);
    println!("{LINES} lines, {} MB: at most {} MB", size / 1_000_000, highest / 1_000);
    assert!((1_000..MOST).contains(&highest), "{highest} kB");
}
