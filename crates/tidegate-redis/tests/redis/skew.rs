//! Nodes whose clocks disagree share one server: its time counts, and theirs is never asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate::{Cost, Decision, Policy, Span};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;
use tokio::time::sleep;

use crate::fixture::{at_port, bucket, config, fixed, take};

/// How far ahead the other node's clock is.
const AHEAD: Duration = Duration::from_secs(30);
/// Tells the node which port to use; without it there is no node to play.
const PORT: &str = "TIDEGATE_TEST_PORT";
/// Begins the lines that a node writes, among those of the test harness.
const MARK: &str = "node:";

/// The limits that both nodes know: ten in a minute.
fn limits() -> [Policy; 2] {
    [fixed(10, Span::from_secs(60)), bucket("10/60s")]
}

#[allow(clippy::disallowed_methods, reason = "whether the clock was set is what is asked")]
fn local_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// Another node: this program again, under a clock that is ahead.
struct Node {
    child: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Node {
    fn start(port: u16) -> Node {
        let mut command = Command::new("faketime");
        command.args(["-f", &format!("+{}s", AHEAD.as_secs())]);
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", "skew::node", "--ignored", "--nocapture"]);
        command.env(PORT, port.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let spawned = command.spawn();
        let mut child = spawned.unwrap_or_else(|error| {
            panic!("cannot run faketime ({error}); try `apt-get install -y faketime`")
        });
        let (asks, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Node { child, asks: Some(asks), answers: BufReader::new(answers) }
    }

    /// What the node answers, as numbers.
    fn ask(&mut self, what: &str) -> Vec<u64> {
        writeln!(self.asks.as_ref().unwrap(), "{what}").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "the node ended");
            // The harness begins the line in which the first answer is.
            if let Some((_, answer)) = line.split_once(MARK) {
                return answer.split_whitespace().map(|word| word.parse().unwrap()).collect();
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The end of its input ends it; faketime waits for it, so killing that would not.
        drop(self.asks.take());
        let _ = self.answers.read_to_string(&mut String::new());
        let _ = self.child.wait();
    }
}

/// Whether a decision allows, and its wait in milliseconds.
fn numbers(decision: &Decision) -> Vec<u64> {
    let wait = decision.retry_after.unwrap_or(Span::ZERO);
    vec![u64::from(decision.is_allowed()), wait.as_millis_ceil()]
}

/// The other node; it ends with its input.
#[tokio::test]
#[ignore = "a part of nodes_with_other_clocks_share_one_limit, which starts it"]
async fn node() {
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let store = RedisStore::new(at_port(port, Span::from_secs(20)));
    let limits = limits();
    for line in std::io::stdin().lines() {
        let answer = match line.unwrap().parse::<usize>() {
            Ok(place) => numbers(&take(&store, &limits[place], Cost::ONE).await),
            Err(_) => vec![u64::try_from(local_time().as_millis()).unwrap()],
        };
        let words: Vec<String> = answer.iter().map(u64::to_string).collect();
        println!("{MARK} {}", words.join(" "));
    }
}

/// P40: of twenty requests, in turn from two nodes whose clocks are 30 s apart, exactly ten pass, and
/// both are told the same wait.
#[tokio::test]
async fn nodes_with_other_clocks_share_one_limit() {
    let server = RedisServer::start(&[]);
    let near = RedisStore::new(config(&server));
    let mut far = Node::start(server.port());
    let ahead = far.ask("clock")[0].abs_diff(u64::try_from(local_time().as_millis()).unwrap());
    assert!((25_000..35_000).contains(&ahead), "the node's clock is {ahead} ms away");

    // Not across the end of a window of the server's.
    let second: u64 = server.command(&["TIME"]).lines().next().unwrap().parse().unwrap();
    if second % 60 > 50 {
        sleep(Duration::from_secs(60 - second % 60)).await;
    }
    for (place, policy) in limits().iter().enumerate() {
        let mut answers = Vec::new();
        for _ in 0..10 {
            answers.push(numbers(&take(&near, policy, Cost::ONE).await));
            answers.push(far.ask(&place.to_string()));
        }
        let passed: u64 = answers.iter().map(|answer| answer[0]).sum();
        assert_eq!(passed, 10, "{policy:?}: {answers:?}");
        let waits = answers.iter().filter(|answer| answer[0] == 0).map(|answer| answer[1]);
        let (least, most) = (waits.clone().min().unwrap(), waits.max().unwrap());
        assert!(least > 0 && most - least <= 1_000, "{policy:?}: {answers:?}");
    }
}
