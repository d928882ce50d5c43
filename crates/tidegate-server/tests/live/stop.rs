//! P65: stopping a process in order, whoever is connected and whatever became of its store.

use std::io::Write;
use std::net::TcpStream;
use std::thread::{sleep, spawn};
use std::time::Duration;

use tidegate_server::proto::v1::AllowRequest;
use tidegate_server::proto::v1::rate_limiter_client::RateLimiterClient;
use tidegate_testkit::RedisServer;
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::client::Client;
use crate::process::Service;

const WIDE: &str = "policies:\n  default:\n    limits:\n      \
    - { name: wide, algorithm: token_bucket, capacity: 1000000, rate: 1000000 }\n";

/// The time that the service has to end.
const GRACE: Duration = Duration::from_secs(10);

fn over(server: &RedisServer, timeout: &str) -> String {
    let port = server.port();
    format!(
        "store: redis\nbackends: {{ redis: {{ addr: \"127.0.0.1:{port}\", timeout: {timeout} }} }}\n{WIDE}"
    )
}

/// P65: a signal ends the process with 0; an idle client does not hold it up.
#[test]
fn a_signal_ends_the_process_in_order() {
    for signal in ["TERM", "INT"] {
        let mut service = Service::start(WIDE);
        let mut idle = Client::connect(service.http);
        assert_eq!(idle.limit("a").status, 200);
        let started = Instant::now();
        assert_eq!(service.stop(signal), Some(0));
        assert!(started.elapsed() < GRACE / 2, "{:?}", started.elapsed());
        service.wait_for(&format!("stopping on SIG{signal}"));
        assert_eq!(service.messages().last().map(String::as_str), Some("stopped"));
    }
}

/// P65: who will not wait says so again: once to drain no longer, once more to end at once.
#[test]
fn a_second_signal_ends_the_drain_and_a_third_the_grace() {
    let mut service = Service::start(&format!("drain_delay: 30s\n{WIDE}"));
    let mut stuck = TcpStream::connect(("127.0.0.1", service.http)).expect("a connection");
    let request = b"POST /v1/check HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{";
    stuck.write_all(request).expect("an open connection");
    service.signal("TERM");
    service.wait_for("stopping on SIGTERM");
    let started = Instant::now();
    service.signal("INT");
    service.wait_for("draining no longer on SIGINT");
    assert_eq!(service.stop("TERM"), Some(0));
    assert!(started.elapsed() < GRACE / 2, "{:?}", started.elapsed());
    service.wait_for("cut off what is in flight on SIGTERM");
}

/// P65: a store that is silent or gone does not hold up the end, nor does a request that waits for it.
#[test]
fn a_store_that_is_away_does_not_hold_up_the_end() {
    let mut server = RedisServer::start(&[]);
    for (fault, asks) in [("silent", false), ("silent", true), ("down", false), ("down", true)] {
        let mut service = Service::start(&over(&server, "30s"));
        assert_eq!(Client::connect(service.http).limit("a").status, 200);
        if fault == "silent" {
            server.pause();
        } else {
            server.stop();
        }
        let port = service.http;
        let waiting = asks.then(|| spawn(move || Client::connect(port).try_limit("a")));
        sleep(Duration::from_millis(1_500));
        let started = Instant::now();
        assert_eq!(service.stop("TERM"), Some(0), "{fault}, asks: {asks}");
        let took = started.elapsed();
        assert!(took < GRACE, "{fault}, asks: {asks}: {took:?}");
        assert!(asks || took < GRACE / 2, "{fault}: nothing was in flight, yet {took:?}");
        if let Some(waiting) = waiting {
            // Cut off without an answer, or told that the store failed; never allowed or denied.
            let answer = waiting.join().expect("no panic");
            assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status == 503), "{fault}");
        }
        if fault == "silent" { server.resume() } else { server.restart() }
    }
}

/// How long readiness fails while requests are still taken.
const DRAIN: Duration = Duration::from_secs(2);

/// What a client saw until its connection ended.
struct Seen {
    answered: usize,
    /// When the request began that got no answer.
    failed: Instant,
    /// Whether the last answer said that the connection ends.
    was_told: bool,
}

/// Asks over one HTTP/1 connection for as long as it lasts.
fn ask_rest(port: u16, client: usize) -> Seen {
    let mut connection = Client::connect(port);
    let mut seen = Seen { answered: 0, failed: Instant::now(), was_told: false };
    while !seen.was_told {
        seen.failed = Instant::now();
        let Ok(answer) = connection.try_limit(&format!("rest {client}")) else {
            break;
        };
        assert_eq!(answer.status, 200);
        seen.answered += 1;
        seen.was_told = answer.is_last;
        sleep(Duration::from_millis(10));
    }
    seen
}

async fn channel(port: u16) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("a uri");
    endpoint.connect().await.expect("a connection")
}

/// Asks over gRPC until a call fails: the client of this library connects again by itself, and at the
/// end finds nobody.
async fn ask_grpc(port: u16, client: usize) -> Seen {
    let mut grpc = RateLimiterClient::new(channel(port).await);
    let mut seen = Seen { answered: 0, failed: Instant::now(), was_told: true };
    loop {
        seen.failed = Instant::now();
        let key = format!("grpc {client}").into();
        let Ok(answer) = grpc.allow(AllowRequest { key, ..AllowRequest::default() }).await else {
            return seen;
        };
        assert!(answer.into_inner().allowed);
        seen.answered += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Readiness fails on both faces at once, and health does not.
async fn assert_not_ready(service: &Service) {
    let started = Instant::now();
    let mut health = HealthClient::new(channel(service.grpc).await);
    // Each on a connection of its own: every answer is the last of its connection by now.
    let rest = || Client::connect(service.http);
    let word = rest().get("/ready").expect("an answer").status == 503;
    let request = HealthCheckRequest { service: String::new() };
    let status = health.check(request).await.expect("health").into_inner().status();
    assert_eq!((word, status), (true, ServingStatus::NotServing));
    assert!(started.elapsed() < DRAIN / 2, "the service is not that busy");
    assert_eq!(rest().get("/health").expect("an answer").status, 200);
    assert_eq!(rest().limit("late").status, 200, "it goes on while it drains");
}

/// P65: under load on both faces, with a store that takes its time, an idle and a stuck client: no
/// request that was begun before the end is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_in_flight_is_lost_when_a_busy_service_stops() {
    let server = RedisServer::start(&[]);
    let mut service = Service::start(&format!("drain_delay: 2s\n{}", over(&server, "20s")));
    let (http, grpc) = (service.http, service.grpc);
    let rest: Vec<_> = (0..8).map(|client| spawn(move || ask_rest(http, client))).collect();
    let grpc: Vec<_> = (0..8).map(|client| tokio::spawn(ask_grpc(grpc, client))).collect();
    let mut idle = Client::connect(http);
    assert_eq!(idle.limit("idle").status, 200);
    let mut stuck = Client::connect(http);
    stuck.write("POST /v1/check HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{").expect("sent");
    tokio::time::sleep(Duration::from_millis(500)).await;

    let signalled = Instant::now();
    service.signal("TERM");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_not_ready(&service).await;
    // From here to past the end of draining every client has a request in flight.
    tokio::time::sleep_until(signalled + DRAIN / 2).await;
    server.pause();
    tokio::time::sleep_until(signalled + DRAIN + Duration::from_millis(700)).await;
    server.resume();

    for seen in rest.into_iter().map(|client| client.join().expect("no panic")) {
        assert!(seen.was_told, "its last answer says that the connection ends");
        assert!(seen.answered > 10, "{} answers", seen.answered);
    }
    for client in grpc {
        let seen = client.await.expect("no panic");
        assert!(seen.failed > signalled + DRAIN, "no call that was begun before the end failed");
        assert!(seen.answered > 10, "{} answers", seen.answered);
    }
    assert_eq!(service.end(), Some(0));
    let took = signalled.elapsed();
    assert!(took < DRAIN + GRACE, "{took:?}, with a client that is stuck");
    assert!(idle.try_limit("idle").is_err());
}
