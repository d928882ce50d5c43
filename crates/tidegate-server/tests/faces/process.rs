//! The service as a process of its own: its log, its signals, its limits.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::harness::Http;

/// A running `tidegate`, which is ended with the test.
struct Process {
    child: Child,
    log: BufReader<ChildStderr>,
    seen: Vec<String>,
}

impl Process {
    /// Starts `tidegate` on ports of the system's choice, with at most this many open files.
    fn start(files: u32, environment: &[(&str, &str)]) -> Process {
        let program = env!("CARGO_BIN_EXE_tidegate");
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -n {files}; exec \"$0\""), program])
            .current_dir(std::env::temp_dir())
            .env("TIDEGATE_LISTEN__HTTP", "127.0.0.1:0")
            .env("TIDEGATE_LISTEN__GRPC", "127.0.0.1:0")
            .env("TIDEGATE_METRICS__LISTEN", "127.0.0.1:0")
            .env_remove("TIDEGATE_LOG")
            .env_remove("RUST_LOG")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let log = BufReader::new(child.stderr.take().expect("a log"));
        Process { child, log, seen: Vec::new() }
    }

    /// Reads the log up to a line with this text, and returns that line's message.
    fn wait_for(&mut self, text: &str) -> String {
        let mut line = String::new();
        while self.log.read_line(&mut line).expect("a log") > 0 {
            let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            let message = json["message"].as_str().expect("a message").to_owned();
            self.seen.push(message.clone());
            if message.contains(text) {
                return message;
            }
            line.clear();
        }
        panic!("no {text} in {:?}", self.seen);
    }

    /// Where REST listens, by the log.
    fn http(&mut self) -> SocketAddr {
        let line = self.wait_for("listening: REST on ");
        let rest = line.split("REST on ").nth(1).expect("an address");
        rest.split(',').next().expect("an address").parse().expect("an address")
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("kill").success());
    }

    /// How the process ended, which it does in time.
    async fn end(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(12);
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            assert!(Instant::now() < until, "it does not end");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// P65: a signal ends the process with 0, whoever is still connected.
#[tokio::test]
async fn a_signal_ends_the_process_in_order() {
    for signal in ["TERM", "INT"] {
        let mut process = Process::start(256, &[]);
        let at = process.http();
        assert!(process.seen[0].starts_with("configuration: "), "{:?}", process.seen);
        let mut http = Http::connect(at).await;
        let reply = http.send("POST", "/limit", &[("X-Client-Key", "a")], b"").await;
        assert_eq!(reply.status, 200);
        let started = Instant::now();
        process.signal(signal);
        assert_eq!(process.end().await, Some(0));
        assert!(started.elapsed() < Duration::from_secs(5), "an idle client does not hold it up");
        process.wait_for(&format!("stopping on SIG{signal}"));
    }
}

/// P65: who will not wait says so again: once to drain no longer, once more to end at once.
#[tokio::test]
async fn a_second_signal_ends_the_drain_and_a_third_the_grace() {
    let mut process = Process::start(256, &[("TIDEGATE_DRAIN_DELAY", "30s")]);
    let mut stuck = Http::connect(process.http()).await;
    stuck.write(b"POST /v1/check HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{").await;
    process.signal("TERM");
    process.wait_for("stopping on SIGTERM");
    let started = Instant::now();
    process.signal("INT");
    process.wait_for("draining no longer on SIGINT");
    process.signal("TERM");
    assert_eq!(process.end().await, Some(0));
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    process.wait_for("cut off what is in flight on SIGTERM");
}

#[tokio::test]
async fn a_port_that_is_taken_ends_the_process_with_one() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut process = Process::start(256, &[("TIDEGATE_LISTEN__HTTP", &address)]);
    assert_eq!(process.end().await, Some(1));
}

/// Running out of files neither ends the service nor lets it spin.
#[tokio::test]
async fn connections_beyond_the_systems_limit_wait_their_turn() {
    let mut process = Process::start(40, &[]);
    let at = process.http();
    let mut held = Vec::new();
    for _ in 0..60 {
        held.push(TcpStream::connect(at).await.expect("a place in the queue"));
    }
    process.wait_for("cannot accept connections");
    drop(held);
    let mut http = Http::connect(at).await;
    let health = http.send("GET", "/health", &[], b"");
    assert_eq!(timeout(Duration::from_secs(5), health).await.expect("in time").status, 200);
    process.signal("TERM");
    assert_eq!(process.end().await, Some(0));
    process.wait_for("stopped");
    let lines = process.seen.iter().filter(|line| line.contains("cannot accept")).count();
    assert!(lines <= 5, "{lines} lines");
}
