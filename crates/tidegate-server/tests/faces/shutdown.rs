//! Stopping in order.

use std::time::Duration;

use tidegate::{MemoryStore, Store};
use tidegate_server::backend::Backend;
use tidegate_server::proto::v1::AllowRequest;
use tidegate_server::serve::drain;
use tokio::time::{Instant, sleep, timeout};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

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
    timeout(Duration::from_secs(12), server.task).await.expect("an end in time").expect("no panic");
    assert!(started.elapsed() > Duration::from_secs(5), "it was given time");
}
