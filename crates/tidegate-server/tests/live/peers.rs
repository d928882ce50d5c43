//! Clients that nobody here wrote: curl, hey, a Python gRPC client, Prometheus.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tidegate_testkit::RedisServer;

use crate::counts::{FIFTY_A_DAY, LOG_TOTALS, addresses, away_from_midnight, memory, redis};
use crate::process::{Service, fresh_folder, get, until};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project")
}

/// Runs a program and gives what it printed; a test fails with its words when it fails.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run {command:?}: {error}; scripts/test.sh installs what is missing")
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?} failed:\n{}", text(&output.stderr));
    text(&output.stdout)
}

/// The number that stands before or after a word on a line of its own.
fn number_on_line<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.contains(mark))?;
    line.split_whitespace().find(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first thing a newcomer does: no configuration, ten requests at once, then a denial. On a busy
/// machine more than a second may pass, and then one more passes.
#[test]
fn curl_gets_ten_at_once_and_then_a_denial_with_every_header() {
    let service = Service::start_unconfigured();
    let url = format!("http://127.0.0.1:{}/limit", service.http);
    let curl = || {
        let alice = "X-Client-Key: alice";
        let answer = run(Command::new("curl").args(["-s", "-i", "-X", "POST", "-H", alice, &url]));
        answer.to_lowercase()
    };
    for _ in 0..10 {
        let answer = curl();
        assert!(answer.starts_with("http/1.1 200 "), "{answer}");
        assert!(answer.contains("\r\nratelimit: \"default\";r="), "{answer}");
        assert!(answer.contains("\r\nratelimit-policy: \"default\";q=10;w=10\r\n"), "{answer}");
    }
    let denied = (0..1_000).map(|_| curl()).find(|answer| !answer.starts_with("http/1.1 200 "));
    let answer = denied.expect("a denial, faster than one a second");
    assert!(answer.starts_with("http/1.1 429 "), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
    assert!(answer.contains("\r\nratelimit: \"default\";r=0;t=1\r\n"), "{answer}");
    assert!(answer.contains("\r\nratelimit-policy: \"default\";q=10;w=10\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nrate limit exceeded\n"), "{answer}");
}

#[test]
fn hey_is_allowed_exactly_the_limit() {
    away_from_midnight();
    let service = Service::start(&memory(FIFTY_A_DAY));
    let url = format!("http://127.0.0.1:{}/limit", service.http);
    let alice = "X-Client-Key: alice";
    let report =
        run(Command::new("hey").args(["-n", "2000", "-c", "50", "-m", "POST", "-H", alice, &url]));
    assert!(report.contains("[200]\t50 responses"), "{report}");
    assert!(report.contains("[429]\t1950 responses"), "{report}");
    assert_eq!(number_on_line(&report, "[429]"), Some("1950"));
}

/// The Python client, on the service definition as it is published in `proto/`.
fn python(services: &[Service], arguments: &[&str]) -> String {
    let root = root();
    let python = root.join(".cache/python-grpc/bin/python");
    assert!(python.exists(), "no Python client yet: run scripts/python-grpc.sh");
    let client = root.join("crates/tidegate-server/tests/live/grpc_client.py");
    let targets = services.iter().map(|service| format!("127.0.0.1:{}", service.grpc));
    let targets = targets.collect::<Vec<_>>().join(",");
    run(Command::new(python).arg(client).arg(root.join("proto")).arg(targets).args(arguments))
}

#[test]
fn a_python_client_uses_every_call_of_the_grpc_face() {
    let slow = "policies:\n  default:\n    limits:\n      \
                - { name: default, algorithm: token_bucket, capacity: 10, rate: 1/hour }\n";
    let service = Service::start(&memory(slow));
    assert_eq!(python(&[service], &["tour"]).lines().last(), Some("tour: ok"));
}

/// Sends the log through gRPC and demands the exact totals.
fn play_log(services: &[Service]) {
    let log = root().join("crates/tidegate-server/tests/data/access.log");
    let report = python(services, &["log", &log.display().to_string()]);
    let expected = format!("allowed {} denied {}", LOG_TOTALS.allowed, LOG_TOTALS.denied);
    assert_eq!(report.lines().last(), Some(expected.as_str()));
}

#[test]
fn a_real_log_through_grpc_is_counted_exactly_in_memory() {
    away_from_midnight();
    play_log(&[Service::start(&memory(FIFTY_A_DAY))]);
}

#[test]
fn a_real_log_through_grpc_is_counted_exactly_by_three_processes_on_redis() {
    away_from_midnight();
    let server = RedisServer::start(&[]);
    play_log(&Service::fleet(&redis(&server, FIFTY_A_DAY), 3));
}

/// A port that nobody listens on now, for a program that cannot say which one it was given.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// A Prometheus server of the test's own.
struct Prometheus {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Prometheus {
    fn scraping(service: &Service) -> Prometheus {
        let (folder, port) = (fresh_folder(), free_port());
        let config = format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: tidegate\n    \
             static_configs: [ {{ targets: [\"127.0.0.1:{}\"] }} ]\n",
            service.metrics
        );
        std::fs::write(folder.join("prometheus.yml"), config).expect("write a configuration");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("start prometheus; scripts/test.sh installs it");
        Prometheus { child, folder, port }
    }

    /// The value of an expression, once there is one.
    fn query(&self, expression: &str) -> Option<String> {
        let answer = get(self.port, &format!("/api/v1/query?query={expression}"))?;
        let value = answer.split("\"value\":[").nth(1)?;
        value.split('"').nth(1).map(str::to_owned)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn prometheus_scrapes_what_was_decided() {
    away_from_midnight();
    let service = Service::start(&memory(FIFTY_A_DAY));
    let counts = crate::client::send_all(&[service.http], 32, &addresses());
    assert_eq!(counts, LOG_TOTALS);
    let prometheus = Prometheus::scraping(&service);
    let decided = |result: &str| {
        let series = format!("ratelimiter_decisions_total%7Bresult=%22{result}%22%7D");
        until("prometheus has scraped", || prometheus.query(&series))
    };
    assert_eq!(decided("allowed"), LOG_TOTALS.allowed.to_string());
    assert_eq!(decided("denied"), LOG_TOTALS.denied.to_string());
    assert_eq!(decided("errored"), "0");
    let up = until("prometheus says", || prometheus.query("up%7Bjob=%22tidegate%22%7D"));
    assert_eq!(up, "1");
    let count = "ratelimiter_decision_duration_seconds_count%7Bresult=%22denied%22%7D";
    let timed = until("prometheus has the histogram", || prometheus.query(count));
    assert_eq!(timed, LOG_TOTALS.denied.to_string());
}
