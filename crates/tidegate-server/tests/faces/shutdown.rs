//! Stopping in order.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use http::uri::PathAndQuery;
use tidegate::{MemoryStore, Store};
use tidegate_server::backend::Backend;
use tidegate_server::proto::v1::AllowRequest;
use tidegate_server::serve::drain;
use tokio::time::{Instant, sleep, timeout};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use crate::harness::{Http, bucket, settings, start, start_over};

/// A store that takes its time.
pub(crate) struct Slow(pub(crate) MemoryStore, pub(crate) Duration);

impl Store for Slow {
    type Take = std::pin::Pin<
        Box<dyn Future<Output = Result<tidegate::Verdict, tidegate::StoreError>> + Send>,
    >;
    type Done = <MemoryStore as Store>::Done;

    fn take(&self, checks: &[tidegate::Check<'_>]) -> Self::Take {
        let (verdict, delay) = (Store::take(&self.0, checks), self.1);
        Box::pin(async move {
            sleep(delay).await;
            verdict.await
        })
    }

    fn take_each(&self, checks: &[tidegate::Check<'_>]) -> Self::Take {
        self.take(checks)
    }

    fn refund(&self, checks: &[tidegate::Check<'_>], at: tidegate::Timestamp) -> Self::Done {
        Store::refund(&self.0, checks, at)
    }

    fn reset(&self, checks: &[tidegate::Check<'_>]) -> Self::Done {
        Store::reset(&self.0, checks)
    }
}

/// P65: what is in flight is answered, and told that the connection ends.
#[tokio::test]
async fn requests_in_flight_are_answered_on_every_port() {
    let store = Slow(MemoryStore::new(), Duration::from_millis(300));
    let settings = settings([bucket("default", "100/hour")]);
    let server = start_over(&settings, Backend::other(store)).await;
    let mut http = server.http().await;
    let idle = server.http().await;
    let mut grpc = server.grpc().await;
    let rest = async { http.send("POST", "/limit", &[("X-Client-Key", "a")], b"").await };
    let request = AllowRequest { key: "b".into(), ..AllowRequest::default() };
    let stop = async {
        sleep(Duration::from_millis(100)).await;
        drain(&server.service, Duration::ZERO, &server.stopper).await;
    };
    let (reply, answer, ()) = tokio::join!(rest, grpc.allow(request), stop);
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    assert!(answer.expect("an answer").into_inner().allowed);
    // The idle connections hold up nothing.
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
    drop(idle);
}

/// P65: a request that was on its way to an idle connection when the word to stop came is answered.
#[tokio::test]
async fn a_request_that_meets_the_end_is_answered() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut http = server.http().await;
    assert_eq!(http.send("POST", "/limit", &[("X-Client-Key", "a")], b"").await.status, 200);
    let mut untouched = server.http().await;
    assert_eq!(server.get("/health").await.status, 200);
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    sleep(Duration::from_millis(50)).await;
    let reply = http.send("POST", "/limit", &[("X-Client-Key", "a")], b"").await;
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    assert!(http.read(true).await.is_none(), "and the connection ends with it");
    assert!(untouched.read(true).await.is_none());
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
}

/// P65: readiness fails at once, and the service goes on for as long as it drains.
#[tokio::test]
async fn readiness_fails_while_requests_are_still_served() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut health = HealthClient::new(server.channel().await);
    let mut watch = health
        .watch(HealthCheckRequest { service: String::new() })
        .await
        .expect("a watch")
        .into_inner();
    let first = watch.message().await.expect("a status").expect("one");
    assert_eq!(first.status(), ServingStatus::Serving);
    let during = async {
        let next = timeout(Duration::from_millis(100), watch.message()).await.expect("at once");
        let next = next.expect("a status").expect("one");
        assert_eq!(next.status(), ServingStatus::NotServing);
        let ready = server.get("/ready").await;
        assert_eq!((ready.status, ready.body.as_str()), (503, "not ready\n"));
        assert_eq!(server.get("/health").await.status, 200);
        assert_eq!(server.limit(&[("X-Client-Key", "a")]).await.status, 200);
    };
    tokio::join!(drain(&server.service, Duration::from_millis(500), &server.stopper), during);
    // The watch does not hold it up.
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
}

/// P65: an idle stream is told to go elsewhere.
#[tokio::test]
async fn an_idle_stream_does_not_hold_up_the_end() {
    let server = start([bucket("default", "100/hour")]).await;
    let inbound = futures_util::stream::pending::<AllowRequest>();
    let mut answers = server.grpc().await.stream(inbound).await.expect("a stream").into_inner();
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    let end = answers.message().await.expect_err("an end");
    assert_eq!(end.code(), tonic::Code::Unavailable);
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
}

/// P65: a client that never finishes its request holds the end up for the grace period at most.
#[tokio::test]
async fn a_stuck_client_is_cut_off_when_the_grace_is_over() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut stuck = Http::connect(server.at.http).await;
    stuck.write(b"POST /v1/check HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{").await;
    // Its request is in flight once another connection was answered.
    assert_eq!(server.get("/health").await.status, 200);
    sleep(Duration::from_millis(50)).await;
    let started = Instant::now();
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    timeout(Duration::from_secs(10), server.task).await.expect("an end in time").expect("no panic");
    assert!(started.elapsed() > Duration::from_secs(5), "it was given time");
}

/// Asks again and again until told that the connection ends, or until it has ended.
async fn ask_on(at: SocketAddr, pause: Duration) -> &'static str {
    let mut http = Http::connect(at).await;
    while !http.is_closed() {
        // This panics when there is no answer.
        let reply = http.send("POST", "/limit", &[("X-Client-Key", "a")], b"").await;
        if reply.header("connection") == Some("close") {
            return "told";
        }
        sleep(pause).await;
    }
    "closed"
}

/// P65: who keeps asking on one connection is answered until told to stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_of_a_busy_client_is_lost() {
    for round in 0..10 {
        let server = start([bucket("default", "100/hour")]).await;
        let pauses = (0..8).map(|client| Duration::from_millis(client * 10));
        let clients: Vec<_> =
            pauses.map(|pause| tokio::spawn(ask_on(server.at.http, pause))).collect();
        sleep(Duration::from_millis(50)).await;
        drain(&server.service, Duration::ZERO, &server.stopper).await;
        for client in clients {
            assert_eq!(client.await.expect("an answer to every request"), "told", "{round}");
        }
        let end = timeout(Duration::from_secs(2), server.task).await;
        end.expect("an end in time").expect("no panic");
    }
}

/// P65: a request that was on its way when the service stopped is answered.
#[tokio::test]
async fn a_request_just_after_the_end_is_answered_as_the_last() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut kept = server.http().await;
    let mut fresh = server.http().await;
    assert_eq!(kept.send("GET", "/health", &[], b"").await.header("connection"), None);
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    sleep(Duration::from_millis(200)).await;
    for http in [&mut kept, &mut fresh] {
        let reply = http.send("GET", "/health", &[], b"").await;
        assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
        assert!(http.read(true).await.is_none(), "it is closed after that");
    }
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
}

/// P65: so is one on a connection that was still in the system's queue.
#[tokio::test]
async fn a_request_in_the_queue_is_answered() {
    let server = start([bucket("default", "100/hour")]).await;
    // Nothing here gives the service the time to accept before it stops.
    let mut stream = std::net::TcpStream::connect(server.at.http).expect("a place in the queue");
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: t\r\n\r\n").expect("an open connection");
    server.stopper.stop();
    let answer = tokio::task::spawn_blocking(move || {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    });
    assert!(answer.await.expect("no panic").starts_with("HTTP/1.1 200"));
}

/// P65: whoever asks while the service drains is told to connect elsewhere.
#[tokio::test]
async fn answers_while_draining_are_the_last_of_their_connections() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut http = server.http().await;
    assert_eq!(http.send("GET", "/health", &[], b"").await.header("connection"), None);
    let during = async {
        let reply = http.send("GET", "/health", &[], b"").await;
        assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
        assert_eq!(server.get("/health").await.status, 200);
    };
    tokio::join!(drain(&server.service, Duration::from_millis(300), &server.stopper), during);
}

/// P65: an open reflection stream ends with the service.
#[tokio::test]
async fn a_reflection_stream_does_not_hold_up_the_end() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut grpc = tonic::client::Grpc::new(server.channel().await);
    grpc.ready().await.expect("a connection");
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let asked = futures_util::stream::pending::<ServerReflectionRequest>();
    let codec = tonic_prost::ProstCodec::<_, ServerReflectionResponse>::default();
    let streaming =
        grpc.streaming(tonic::Request::new(asked), PathAndQuery::from_static(path), codec);
    let mut told = streaming.await.expect("a stream").into_inner();
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    let end = timeout(Duration::from_secs(2), told.message()).await.expect("an end in time");
    assert!(end.expect("no error").is_none());
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
}

/// P65: nor does a client that asks and never reads.
#[tokio::test]
async fn a_client_that_never_reads_is_cut_off_when_the_grace_is_over() {
    let server = start([bucket("default", "100/hour")]).await;
    let mut deaf = Http::connect(server.at.http).await;
    let requests = "GET /health HTTP/1.1\r\nHost: t\r\n\r\n".repeat(10_000);
    let fill = async {
        loop {
            deaf.write(requests.as_bytes()).await;
        }
    };
    assert!(timeout(Duration::from_secs(2), fill).await.is_err(), "it is full");
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    timeout(Duration::from_secs(10), server.task).await.expect("an end in time").expect("no panic");
}

/// P65: a store that does not answer holds up nothing when no request waits for it.
#[tokio::test]
async fn a_silent_store_does_not_hold_up_the_end() {
    let store = Slow(MemoryStore::new(), Duration::from_secs(30));
    let settings = settings([bucket("default", "100/hour")]);
    let server = start_over(&settings, Backend::other(store)).await;
    assert_eq!(server.get("/health").await.status, 200);
    drain(&server.service, Duration::ZERO, &server.stopper).await;
    timeout(Duration::from_secs(2), server.task).await.expect("an end in time").expect("no panic");
}
