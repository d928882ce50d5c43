//! `tidegate replay`, end to end, on a public access log of two UTC days whose lines are out of
//! order.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Parser;
use flate2::Compression;
use flate2::write::GzEncoder;
use tidegate::{Limit, Policy, PolicyTable};
use tidegate_server::cli::replay::{ReplayArgs, ReplayError, Report, run};

/// As the command line has it, without the rest of the program.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    replay: ReplayArgs,
}

const DAILY: &str = "--limit=fixed_window 50/day";

fn replay(args: &[&str]) -> Result<Report, ReplayError> {
    let cli = Cli::try_parse_from([&["replay"], args].concat()).expect("valid arguments");
    run(&cli.replay, &PolicyTable::default())
}

fn access_log() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/access.log");
    fs::read_to_string(path).expect("the log is in the repository")
}

/// A file that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Scratch {
        let name = format!("tidegate-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).expect("a writable directory for temporary files");
        Scratch(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the path is UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A line taken apart in another way than the program does.
struct Hit<'a> {
    ip: &'a str,
    day: &'a str,
    minute: &'a str,
    time: &'a str,
    status: &'a str,
    bytes: &'a str,
    agent: &'a str,
}

impl<'a> Hit<'a> {
    fn parse(line: &'a str) -> Hit<'a> {
        let (start, rest) = line.split_once(" [").expect("a time");
        let (time, rest) = rest.split_once(']').expect("a time");
        let (_, rest) = rest.split_once("\" ").expect("a request");
        let mut words = rest.splitn(3, ' ');
        let (status, bytes) = (words.next(), words.next());
        let agent = words.next().and_then(|rest| rest.splitn(4, '"').nth(3));
        Hit {
            ip: start.split(' ').next().expect("an address"),
            day: &time[..11],
            minute: &time[..17],
            time,
            status: status.expect("a status"),
            bytes: bytes.expect("bytes"),
            agent: agent.and_then(|agent| agent.strip_suffix('"')).expect("an agent"),
        }
    }
}

/// The truth: of each address at most 50 a day pass, the first ones.
#[test]
fn fifty_a_day_allow_4117_of_4525() {
    let log = Scratch::new("plain.log", access_log());
    let report = replay(&[log.path(), DAILY]).expect("played");
    assert_eq!((report.lines, report.played), (4_525, 4_525));
    assert_eq!((report.allowed, report.denied), (4_117, 408));
    assert_eq!(report.malformed.lines, 0);
    assert!(report.out_of_order.lines > 0);
    assert_eq!(report.from, "2015-05-17T10:05:00Z");
    assert_eq!(report.limits[0].denied, 408);
}

#[test]
fn gzip_json_lines_and_csv_say_the_same_as_the_log() {
    let log = access_log();
    let plain = Scratch::new("same.log", &log);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::default());
    zipped.write_all(log.as_bytes()).expect("room");
    let zipped = Scratch::new("same.bin", zipped.finish().expect("room"));
    let mut json = String::new();
    let mut csv = "status,Time_Local,agent,remote_addr,bytes\r\n".to_owned();
    for hit in log.lines().map(Hit::parse) {
        let Hit { ip, time, status, bytes, agent, .. } = hit;
        let line = serde_json::json!({
            "client": {"ip": ip}, "agent": agent, "@timestamp": time, "bytes": bytes,
        });
        json.push_str(&format!("{line}\n"));
        let agent = agent.replace('"', "\"\"");
        csv.push_str(&format!("{status},{time},\"{agent}\",{ip},{bytes}\r\n"));
    }
    let json = Scratch::new("same.json", json);
    let csv = Scratch::new("same.csv", csv);

    let expected = replay(&[plain.path(), DAILY]).expect("played");
    let found = [
        replay(&[zipped.path(), DAILY]),
        replay(&[json.path(), DAILY, "--key", "client.ip"]),
        replay(&[csv.path(), DAILY]),
    ];
    for report in found {
        let report = report.expect("played");
        assert_eq!(report.allowed, 4_117, "{:?}", report.logs);
        let same = Report {
            logs: expected.logs.clone(),
            key: expected.key.clone(),
            out_of_order: expected.out_of_order.clone(),
            ..report
        };
        assert_eq!(same, expected);
    }
}

#[test]
fn shuffled_and_split_logs_say_the_same() {
    let log = access_log();
    let mut lines: Vec<&str> = log.lines().collect();
    let whole = Scratch::new("whole.log", &log);
    let expected = replay(&[whole.path(), DAILY]).expect("played");

    let parts: Vec<Scratch> = (0..)
        .zip(lines.chunks(1_000))
        .map(|(part, lines)| Scratch::new(&format!("part{part}.log"), lines.join("\n")))
        .collect();
    let mut args: Vec<&str> = parts.iter().map(Scratch::path).collect();
    args.push(DAILY);
    let split = replay(&args).expect("played");

    // A fixed shuffle: 2,017 has no factor in common with 4,525.
    lines = (0..lines.len()).map(|at| lines[at * 2_017 % lines.len()]).collect();
    let shuffled = Scratch::new("shuffled.log", lines.join("\n"));
    let shuffled = replay(&[shuffled.path(), DAILY]).expect("played");

    assert!(shuffled.out_of_order.lines > expected.out_of_order.lines);
    for report in [split, shuffled] {
        let same = Report {
            logs: expected.logs.clone(),
            out_of_order: expected.out_of_order.clone(),
            ..report
        };
        assert_eq!(same, expected);
    }
}

#[test]
fn json_parses_and_its_sums_agree() {
    let log = Scratch::new("sums.log", format!("-\n{}", access_log()));
    let report = replay(&[log.path(), DAILY, "--top=1000", "--cost=bytes"]).expect("played");
    let mut json = Vec::new();
    report.write_json(&mut json).expect("room");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    assert_eq!(number(&json["allowed"]) + number(&json["denied"]), number(&json["played"]));
    let lines = number(&json["played"]) + number(&json["malformed"]["lines"]);
    assert_eq!((lines, number(&json["lines"])), (4_526, 4_526));
    let limits = json["limits"].as_array().expect("limits");
    let by_limit: u64 = limits.iter().map(|limit| number(&limit["denied"])).sum();
    let keys = json["most_denied"].as_array().expect("keys");
    let by_key: u64 = keys.iter().map(|key| number(&key["denied"])).sum();
    assert_eq!(keys.len() as u64, number(&json["keys_denied"]));
    assert_eq!([by_limit, by_key], [number(&json["denied"]); 2]);
    // Nearly every answer of this log is longer than 50 bytes.
    assert!(number(&json["exceeds"]) > 4_000);
    let bytes: u64 =
        access_log().lines().filter_map(|line| Hit::parse(line).bytes.parse::<u64>().ok()).sum();
    let costs = json["allowed_cost"].as_f64().zip(json["denied_cost"].as_f64());
    let sum = costs.map(|(allowed, denied)| allowed + denied).expect("costs");
    assert!((sum - bytes as f64).abs() < 1.0, "{sum} of {bytes}");
}

/// Counts again, slowly and by another road.
#[test]
fn keys_and_the_worst_minute_are_those_of_a_recount() {
    let log = access_log();
    let mut hits: Vec<Hit<'_>> = log.lines().map(Hit::parse).collect();
    // Within two days of one month their text sorts like their time.
    hits.sort_by_key(|hit| hit.time);
    let mut used: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut minutes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut keys: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for hit in &hits {
        let used = used.entry((hit.ip, hit.day)).or_default();
        let denied = u64::from(*used == 50);
        *used += 1 - denied;
        for counts in [minutes.entry(hit.minute).or_default(), keys.entry(hit.ip).or_default()] {
            *counts = (counts.0 + 1, counts.1 + denied);
        }
    }
    let file = Scratch::new("recount.log", &log);
    let report = replay(&[file.path(), DAILY]).expect("played");

    let most = minutes.values().map(|(_, denied)| *denied).max();
    let worst = minutes.iter().find(|(_, (_, denied))| Some(*denied) == most);
    let (minute, (asked, denied)) = worst.expect("a minute");
    let found = report.worst_minute.expect("a minute with denials");
    assert_eq!((found.asked, found.denied), (*asked, *denied));
    let (day, clock) = minute.split_once(':').expect("a day and a time");
    assert_eq!(found.start, format!("2015-05-{}T{clock}:00Z", &day[..2]));

    assert_eq!(report.keys, keys.len() as u64);
    let denied_keys = keys.values().filter(|(_, denied)| *denied > 0).count();
    assert_eq!(report.keys_denied, denied_keys as u64);
    assert_eq!(report.most_denied.len(), denied_keys.min(10));
    for key in &report.most_denied {
        assert_eq!((key.asked, key.denied), keys[key.key[0].as_str()], "{:?}", key.key);
        assert_eq!(key.allowed, key.asked - key.denied);
    }
    let order = |pair: &[tidegate_server::cli::replay::KeyReport]| pair[0].denied >= pair[1].denied;
    assert!(report.most_denied.windows(2).all(order));
}

/// P13: when one limit denies, the other is not charged.
#[test]
fn a_denial_of_one_limit_charges_no_other() {
    let lines = (0..10).map(|second| format!("{second},::1\n"));
    let log = Scratch::new("both.csv", format!("ts,ip\n{}", lines.collect::<String>()));
    let limits = ["--limit=burst=1 per 2s", "--limit=hourly=fixed_window 4/h"];
    let report = replay(&[log.path(), limits[0], limits[1]]).expect("played");
    // Every other second passes the bucket, four of those the window: at 0, 2, 4 and 6.
    assert_eq!(report.allowed, 4);
    // Of 7, 8 and 9 the window has the longest wait.
    let denied: Vec<_> = report.limits.iter().map(|limit| limit.denied).collect();
    assert_eq!(denied, [3, 3]);
}

#[test]
fn costs_are_charged_and_a_bad_one_makes_the_line_malformed() {
    let log = Scratch::new(
        "costs.json",
        concat!(
            "{\"t\":0,\"ip\":\"a\",\"units\":60}\n",
            "{\"t\":1,\"ip\":\"a\",\"units\":\"40.5\"}\n",
            "{\"t\":2,\"ip\":\"a\",\"units\":40}\n",
            "{\"t\":3,\"ip\":\"a\",\"units\":101}\n",
            "{\"t\":4,\"ip\":\"a\",\"units\":\"lots\"}\n",
            "{\"t\":5,\"ip\":\"a\"}\n",
        ),
    );
    let report =
        replay(&[log.path(), "--cost=units", "--limit=fixed_window 100/h"]).expect("played");
    assert_eq!((report.allowed, report.denied, report.exceeds), (2, 2, 1));
    assert_eq!((report.allowed_cost, report.denied_cost), (100.0, 141.5));
    assert_eq!(report.malformed.lines, 2);
}

#[test]
fn keys_of_several_fields_are_apart_and_shown_in_parts() {
    let log = Scratch::new("parts.csv", "ts,ip,path\n0,a,bc\n0,ab,c\n0,a,bc\n");
    let report = replay(&[log.path(), "--key=ip,path", "--limit=1/h"]).expect("played");
    assert_eq!((report.keys, report.allowed, report.denied), (2, 2, 1));
    assert_eq!(report.most_denied[0].key, ["a", "bc"]);
}

/// Keys are bytes: two that are no UTF-8 stay two, and both are shown.
#[test]
fn hostile_lines_are_played_as_they_are() {
    let line = |ip: &[u8], time: &str, agent: &[u8]| {
        let start = [ip, b" - - [", time.as_bytes(), b"] \"\\x16\\x03\" 400 - \"-\" \""].concat();
        [start.as_slice(), agent, b"\"\r\n"].concat()
    };
    let now = "29/Feb/2024:23:59:60 -0100";
    let log = [
        line(b"2001:db8::1", now, b"say \\\"hi\\\""),
        line(b"2001:db8::1", now, b"\xff"),
        line(b"::ffff:1.2.3.4", now, b"\xfe"),
        line(b"-", now, b"\xfe"),
        line(b"::1", "31/Dec/2199:00:00:00 +0000", b"\x1b[2J"),
        line(b"::1", "31/Dec/1969:00:00:00 +0000", b"x"),
        line(b"::1", "-", b"x"),
    ];
    let log = Scratch::new("hostile.log", log.concat());
    let report = replay(&[log.path(), "--limit=1/h"]).expect("played");
    assert_eq!((report.played, report.keys, report.denied), (5, 4, 1));
    assert_eq!(report.malformed.lines, 2);
    assert_eq!(report.from, "2024-03-01T01:00:00Z");
    assert_eq!(report.to, "2199-12-31T00:00:00Z");
    let report = replay(&[log.path(), "--limit=1/h", "--key=agent"]).expect("played");
    assert_eq!((report.keys, report.denied), (4, 1));
    let report = replay(&[log.path(), "--limit=1/h", "--cost=bytes"]).expect("played");
    assert_eq!((report.allowed, report.allowed_cost), (5, 0.0), "no bytes cost nothing");
}

#[test]
fn policies_are_found_by_name() {
    let log = Scratch::new("policy.csv", "ts,ip\n0,a\n0,a\n");
    let one = Limit::quota("one", "1/h").expect("a limit");
    let policies = PolicyTable::new([Policy::new("api", [one]).expect("a policy")]);
    let run_with = |args: &[&str]| {
        let args = [&["replay", log.path()], args].concat();
        run(&Cli::try_parse_from(args).expect("valid arguments").replay, &policies)
    };
    let report = run_with(&["--policy=api"]).expect("played");
    assert_eq!((report.policy.as_str(), report.denied), ("api", 1));
    let error = run_with(&["--policy=apj"]).expect_err("no such policy");
    let text = "there is no policy \"apj\"; there are: api; did you mean \"api\"?";
    assert_eq!((error.to_string().as_str(), error.exit_code()), (text, 2));
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let empty = Scratch::new("empty.log", "\n\n");
    let garbage = Scratch::new("garbage.log", "-\n\u{0}\n");
    let good = Scratch::new("good.csv", "ts,ip\n0,a\n");
    let headless = Scratch::new("headless.csv", "ts\n0\n");
    let directory = std::env::temp_dir();
    let directory = directory.to_str().expect("the path is UTF-8");
    for (args, part, code) in [
        (vec!["no/such.log"], "cannot open no/such.log: ", 1),
        (vec![directory], "is a directory; name the logs in it", 1),
        (vec![empty.path()], "there is nothing to replay: ", 1),
        (vec![garbage.path()], ":1: not a combined or common log line: no space", 1),
        (vec![good.path(), "--key=user"], "has no field \"user\"; its fields are ts, ip", 2),
        (vec![good.path(), "--cost=ipp"], "did you mean \"ip\"?", 2),
        (vec![headless.path(), "--format=csv"], "has no CSV header", 2),
        (vec![good.path(), "--limit=often"], "no algorithm is named \"often\"", 2),
    ] {
        let args = [args.as_slice(), &["--limit=1/h"]].concat();
        let error = replay(&args).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.exit_code(), code, "{error}");
    }
}

#[test]
fn the_text_tells_the_whole_story() {
    let log = Scratch::new("text.log", format!("-\n{}", access_log()));
    let report = replay(&[log.path(), DAILY, "--top=1"]).expect("played");
    let mut text = Vec::new();
    report.write_text(&mut text).expect("room");
    let text = String::from_utf8(text).expect("UTF-8");
    for part in [
        "4,525 of 4,526 lines of ",
        "allowed             4,117   90.98%",
        "denied                408    9.02%",
        "408  fixed_window: at most 50 per UTC day",
        "keys denied\n",
        "10.0.0.",
        "worst minute: 2015-05-1",
        "out of order: ",
        "malformed: 1 line, not played",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}
