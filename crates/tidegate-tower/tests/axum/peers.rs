//! The examples as processes of their own, and clients that nobody here wrote: curl and h2load.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tidegate_testkit::{RedisServer, free_port};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where the examples are, built anew if need be.
fn examples() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "tidegate-tower", "--examples"]).current_dir(root());
        assert!(cargo.status().unwrap().success(), "the examples build");
        // This test lies beside them: target/debug/deps and target/debug/examples.
        let here = std::env::current_exe().unwrap();
        here.parent().and_then(Path::parent).unwrap().join("examples")
    })
}

/// An example that runs until this is dropped.
struct Example {
    child: Child,
    port: u16,
}

impl Example {
    /// Starts an example on a free port, and waits until it says that it listens.
    fn start(name: &str, variables: &[(&str, String)]) -> Example {
        let port = free_port();
        let mut command = Command::new(examples().join(name));
        command.env("PORT", port.to_string()).envs(variables.iter().cloned());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on http://127.0.0.1:{port}\n"));
        Example { child, port }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program prints.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run {program}: {error}; scripts/test.sh installs what is missing")
    });
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The answer that curl gets, in lower case.
fn curl(arguments: &[&str]) -> String {
    run("curl", &[&["-s", "-i"], arguments].concat()).to_lowercase()
}

/// Asks until it is denied, and gives how often it passed, and the denial.
fn spend(arguments: &[&str]) -> (usize, String) {
    for passed in 0..1_000 {
        let answer = curl(arguments);
        if !answer.starts_with("http/1.1 200 ") {
            return (passed, answer);
        }
    }
    panic!("{arguments:?} is not limited");
}

/// How often something may have passed that is limited to `limit`: on a busy machine there is time for
/// some to come back.
fn about(limit: usize) -> std::ops::RangeInclusive<usize> {
    limit..=limit + 3
}

#[test]
fn the_axum_example_limits_by_peer_by_user_and_by_route() {
    let example = Example::start("axum", &[]);
    let root = example.url("/");
    let answer = curl(&[&root]);
    assert!(answer.contains("\r\nratelimit-policy: \"peer\";q=10;w=60\r\n"), "{answer}");
    let (passed, answer) = spend(&[&root]);
    assert!(about(9).contains(&passed), "{passed}");
    assert!(answer.starts_with("http/1.1 429 "), "{answer}");
    assert!(answer.contains("\r\nretry-after: "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nrate limit exceeded\n"), "{answer}");

    let me = example.url("/me");
    let nobody = curl(&[&me]);
    assert!(nobody.starts_with("http/1.1 400 "), "{nobody}");
    assert!(nobody.ends_with("\r\n\r\nx-user: missing\n"), "{nobody}");
    for user in ["x-user: ann", "x-user: bob"] {
        let (passed, answer) = spend(&["-H", user, &me]);
        assert!(about(5).contains(&passed) && answer.starts_with("http/1.1 429 "), "{answer}");
    }
    assert!(curl(&[&example.url("/export/2024")]).starts_with("http/1.1 200 "));
    assert!(about(2).contains(&spend(&[&example.url("/export/2025")]).0), "one route");
    assert!(about(3).contains(&spend(&[&example.url("/search")]).0), "another route");
}

/// The numbers of h2load's line on statuses: `status codes: 10 2xx, 0 3xx, 1990 4xx, 0 5xx`.
fn statuses(report: &str) -> (usize, usize) {
    let line = report.lines().find(|line| line.starts_with("status codes:")).unwrap();
    let number = |kind: &str| {
        let before = line.split(kind).next().unwrap();
        before.split_whitespace().last().unwrap().parse().unwrap()
    };
    (number("2xx"), number("4xx"))
}

/// P10 through axum: many connections at once, in HTTP/2 and HTTP/1.1, get exactly the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h2load_is_allowed_exactly_the_limit() {
    use axum::Router;
    use axum::routing::get;
    use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy, Span};
    use tidegate_tower::RateLimitLayer;

    for protocol in ["--h1", "--no-tls-proto=h2c"] {
        let (max, day) = (Amount::from_units(50), Span::from_secs(86_400));
        let limit = Limit::fixed_window_from_first("day", max, day).unwrap();
        let policy = Policy::new("api", [limit]).unwrap();
        let layer = RateLimitLayer::new(Limiter::new(MemoryStore::new(), policy));
        let app = Router::new().route("/", get(|| async { "hello" })).layer(layer);
        let url = format!("http://{}/", crate::socket::serve(app).await);
        let load = move || run("h2load", &["-n", "2000", "-c", "20", protocol, &url]);
        let report = tokio::task::spawn_blocking(load).await.unwrap();
        assert_eq!(statuses(&report), (50, 1_950), "{protocol}: {report}");
    }
}

#[test]
fn two_processes_share_the_limits_of_the_redis_example() {
    let server = RedisServer::start(&[]);
    let redis = [("REDIS_PORT", server.port().to_string())];
    let examples = [Example::start("redis", &redis), Example::start("redis", &redis)];
    for number in 0..10 {
        let answer = curl(&[&examples[number % 2].url("/")]);
        assert!(answer.starts_with("http/1.1 200 "), "{number}: {answer}");
        assert!(!answer.contains("x-ratelimit-degraded"), "{number}: {answer}");
    }
    for example in &examples {
        let (passed, answer) = spend(&[&example.url("/")]);
        assert!(about(0).contains(&passed) && answer.starts_with("http/1.1 429 "), "{answer}");
    }
    drop(server);
    let answer = curl(&[&examples[0].url("/")]);
    assert!(answer.starts_with("http/1.1 200 "), "{answer}");
    assert!(answer.contains("\r\nx-ratelimit-degraded: 1\r\n"), "{answer}");
}
