//! Over real sockets, the example as a process of its own, and clients that nobody here wrote.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::body::BodyStream;
use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, web};
use bytes::Bytes;
use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy, Span, Store};
use tidegate_actix::{Hooks, NoPrelude, PeerIp, RateLimit, Rule};
use tidegate_redis::{Address, RedisConfig, RedisStore};
use tidegate_testkit::{RedisServer, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A policy of one window of a day, so that nothing comes back meanwhile.
fn a_day(max: u64) -> Policy {
    let day = Span::from_secs(86_400);
    let limit = Limit::fixed_window_from_first("day", Amount::from_units(max), day).unwrap();
    Policy::new("api", [limit]).unwrap()
}

fn limit(max: u64) -> RateLimit<MemoryStore> {
    RateLimit::new(Limiter::new(MemoryStore::new(), a_day(max)))
}

/// How long a server of these tests waits for a head.
const HEADERS_WITHIN: Duration = Duration::from_millis(500);

/// Serves a limited page by two workers, each with an app of its own.
fn serve<S: Store + 'static>(limit: RateLimit<S>) -> (SocketAddr, ServerHandle) {
    let app = move || App::new().wrap(limit.clone()).route("/", web::get().to(async || "hello"));
    let server = HttpServer::new(app).workers(2).disable_signals();
    let server = server.client_request_timeout(HEADERS_WITHIN).bind(("127.0.0.1", 0)).unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    actix_web::rt::spawn(server);
    (address, handle)
}

/// The whole answer to one request on a connection of its own.
async fn get_whole(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// P71, as far as a middleware goes: a client that trickles its headers never reaches the limit, so it
/// spends nothing and holds nobody up; the server hangs up on it.
#[actix_web::test]
async fn slow_clients_spend_nothing_and_hold_nobody_up() {
    let (address, server) = serve(limit(3));
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ").await.unwrap();
        slow.push(stream);
    }
    for _ in 0..3 {
        let answer = timeout(HEADERS_WITHIN * 4, get_whole(address)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    assert!(get_whole(address).await.starts_with("HTTP/1.1 429 "), "none was spent by others");
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = timeout(HEADERS_WITHIN * 20, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "hung up on");
    }
    server.stop(false).await;
}

/// What was seen of requests that are over: bytes, and whether that was all.
type Seen = Arc<Mutex<Vec<(u64, bool)>>>;

fn watched(seen: &Seen) -> RateLimit<MemoryStore, Rule<PeerIp>, NoPrelude, Hooks> {
    let seen = Arc::clone(seen);
    limit(100).true_cost(move |served| {
        seen.lock().unwrap().push((served.bytes(), served.is_complete()));
        Amount::from_units(2)
    })
}

/// The hook runs also when the client hangs up in the middle of an answer that does not end.
#[actix_web::test]
async fn a_client_that_hangs_up_is_seen_to() {
    let seen = Seen::default();
    let limit = watched(&seen);
    let endless = async || {
        let chunks = futures_util::stream::unfold((), async |()| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(&[b'x'; 1_000])), ()))
        });
        HttpResponse::Ok().message_body(BodyStream::new(Box::pin(chunks)))
    };
    let app = move || App::new().wrap(limit.clone()).route("/", web::get().to(endless));
    let server = HttpServer::new(app).workers(1).disable_signals().bind(("127.0.0.1", 0)).unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    actix_web::rt::spawn(server);

    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    stream.read_exact(&mut [0; 3_000]).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [], "it still goes on");
    drop(stream);
    let is_seen = async {
        while seen.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), is_seen).await.unwrap();
    assert!(matches!(seen.lock().unwrap()[..], [(2_000.., false)]), "{seen:?}");
    handle.stop(false).await;
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The example, which runs until this is dropped.
struct Example {
    child: Child,
    port: u16,
}

impl Example {
    /// Builds the example anew if need be, starts it on a free port, and waits until it says that it
    /// listens.
    fn start() -> Example {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "tidegate-actix", "--examples"]).current_dir(root());
        assert!(cargo.status().unwrap().success(), "the example builds");
        // This test lies beside it: target/debug/deps and target/debug/examples.
        let here = std::env::current_exe().unwrap();
        let built = here.parent().and_then(Path::parent).unwrap().join("examples/actix");
        let port = free_port();
        let mut command = Command::new(built);
        let mut child =
            command.env("PORT", port.to_string()).stdout(Stdio::piped()).spawn().unwrap();
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
fn the_example_limits_by_peer_by_user_and_by_route() {
    let example = Example::start();
    let root = example.url("/");
    let answer = curl(&[&root]);
    assert!(answer.contains("\r\nratelimit-policy: \"peer\";q=10;w=60\r\n"), "{answer}");
    assert!(answer.contains("\r\nratelimit: \"peer\";r=9;t="), "{answer}");
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
    assert!(about(2).contains(&spend(&[&example.url("/%65xport/2025")]).0), "one route");
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

/// How many of 2000 requests on 20 connections pass, by h2load's account, and how many do not.
async fn offer_2000<S: Store + 'static>(limit: RateLimit<S>) -> (usize, usize) {
    let (address, server) = serve(limit);
    let url = format!("http://{address}/");
    let load = move || run("h2load", &["-n", "2000", "-c", "20", "--h1", &url]);
    let report = actix_web::rt::task::spawn_blocking(load).await.unwrap();
    server.stop(false).await;
    statuses(&report)
}

/// P10 through actix-web: many connections over several workers get exactly the limit.
#[actix_web::test]
async fn h2load_is_allowed_exactly_the_limit() {
    assert_eq!(offer_2000(limit(50)).await, (50, 1_950));
}

/// One connection to the store serves all workers, each of which has a runtime of its own.
#[actix_web::test]
async fn workers_share_a_store_elsewhere() {
    let server = RedisServer::start(&[]);
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let timeout = Span::from_secs(10);
    let store = RedisStore::new(RedisConfig { address, timeout, ..RedisConfig::default() });
    let limit = RateLimit::new(Limiter::new(store, a_day(50)));
    assert_eq!(offer_2000(limit).await, (50, 1_950));
}
