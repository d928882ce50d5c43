//! A store that cannot answer: the configured stance, and never a denial nor a client's mistake.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate::{Check, MemoryStore, Span, Store, StoreError, StoreErrorKind, Timestamp, Verdict};
use tidegate_redis::{Address, RedisConfig};
use tidegate_server::backend::Backend;
use tidegate_server::proto::v1::{AllowRequest, CheckRequest};
use tidegate_server::settings::{Settings, Stance, StoreSettings};
use tidegate_testkit::RedisServer;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::harness::{Running, bucket, settings, start_over};
use crate::relay::{Fault, Relay};

/// A memory store with a switch that makes it fail.
#[derive(Default)]
struct Switched {
    store: MemoryStore,
    fails: Arc<AtomicBool>,
}

impl Switched {
    fn answer(&self, verdict: Verdict) -> <Switched as Store>::Take {
        let failed = StoreError::new(StoreErrorKind::Unavailable, "switched off");
        let fails = self.fails.load(Ordering::Relaxed);
        Box::pin(std::future::ready(if fails { Err(failed) } else { Ok(verdict) }))
    }
}

impl Store for Switched {
    type Take = Pin<Box<dyn Future<Output = Result<Verdict, StoreError>> + Send>>;
    type Done = <MemoryStore as Store>::Done;

    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        self.answer(self.store.take(checks))
    }

    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        self.answer(self.store.take_each(checks))
    }

    fn refund(&self, checks: &[Check<'_>], at: Timestamp) -> Self::Done {
        Store::refund(&self.store, checks, at)
    }

    fn reset(&self, checks: &[Check<'_>]) -> Self::Done {
        Store::reset(&self.store, checks)
    }
}

/// A server over a store that can be switched off.
async fn switched(stance: Stance, requires_store: bool) -> (Running, Arc<AtomicBool>) {
    let store = Switched::default();
    let fails = Arc::clone(&store.fails);
    let mut settings = settings([bucket("default", "1/hour")]);
    settings.on_store_error = stance;
    settings.ready_requires_store = requires_store;
    (start_over(&settings, Backend::other(store)).await, fails)
}

fn ask(key: &str) -> AllowRequest {
    AllowRequest { key: key.to_owned().into(), ..AllowRequest::default() }
}

/// Every face gives the stance's answer.
async fn assert_stance(server: &Running, stance: Stance) {
    let limit = server.limit(&[("X-Client-Key", "a")]).await;
    let json = server.check(r#"{"key":"a"}"#).await;
    let batch = server.check(r#"{"checks":[{"key":"a"},{"key":"b"}]}"#).await;
    let mut grpc = server.grpc().await;
    let allow = grpc.allow(ask("a")).await;
    let check = grpc.check(CheckRequest { checks: vec![ask("a"), ask("b")], mode: 1 }).await;
    let inbound = futures_util::stream::iter([ask("a")]);
    let mut stream = grpc.stream(inbound).await.expect("a stream").into_inner();
    match stance {
        Stance::Deny => {
            assert_eq!((limit.status, limit.body.as_str()), (503, "rate limiter error\n"));
            for reply in [json, batch] {
                assert_eq!(reply.status, 503);
                assert_eq!(reply.json()["detail"], "rate limiter error");
            }
            for status in [
                allow.expect_err("no answer"),
                check.expect_err("no answer"),
                stream.message().await.expect_err("no answer"),
            ] {
                assert_eq!(status.code(), Code::Unavailable);
                assert_eq!(status.message(), "rate limiter error");
            }
        }
        Stance::Allow => {
            assert_eq!((limit.status, limit.header("x-ratelimit-degraded")), (200, Some("1")));
            assert_eq!((limit.header("ratelimit"), limit.header("ratelimit-policy")), (None, None));
            let json = json.json();
            assert_eq!((&json["allowed"], &json["degraded"]), (&true.into(), &true.into()));
            assert!(json["remaining"].is_null());
            let batch = batch.json();
            assert_eq!(batch["allowed"], true);
            assert_eq!(batch["decisions"][1]["degraded"], true);
            let allow = allow.expect("an answer").into_inner();
            assert!(allow.allowed && allow.degraded);
            assert_eq!(allow.retry_after.expect("a wait").seconds, 0);
            let check = check.expect("an answer").into_inner();
            assert!(check.allowed && check.decisions.iter().all(|one| one.degraded));
            assert!(stream.message().await.expect("an answer").expect("one").degraded);
        }
    }
}

/// P02: the stance is taken when the store goes away, and given up when it is back.
#[tokio::test]
async fn the_stance_holds_while_the_store_is_away_and_no_longer() {
    for stance in [Stance::Deny, Stance::Allow] {
        let (server, fails) = switched(stance, false).await;
        assert_eq!(server.limit(&[("X-Client-Key", "used")]).await.status, 200);
        assert_eq!(server.get("/ready").await.body, "ready\n");
        fails.store(true, Ordering::Relaxed);
        assert_stance(&server, stance).await;
        assert_eq!(server.get("/ready").await.body, "degraded\n");
        // A client's mistake stays one.
        assert_eq!(server.limit(&[]).await.status, 400);
        assert_eq!(server.check(r#"{"key":"a","policy":"x"}"#).await.status, 400);
        fails.store(false, Ordering::Relaxed);
        let denied = server.limit(&[("X-Client-Key", "used")]).await;
        assert_eq!((denied.status, denied.body.as_str()), (429, "rate limit exceeded\n"));
        assert_eq!(server.get("/ready").await.body, "ready\n");
    }
}

#[tokio::test]
async fn failures_are_counted_as_errored_under_every_stance() {
    for stance in [Stance::Deny, Stance::Allow] {
        let (server, fails) = switched(stance, false).await;
        fails.store(true, Ordering::Relaxed);
        server.check(r#"{"checks":[{"key":"a"},{"key":"b"},{"key":"c","cost":0}]}"#).await;
        let page = server.scrape(&[]).await.body;
        let label = stance.label();
        for line in [
            "ratelimiter_decisions_total{result=\"errored\"} 2".to_owned(),
            "ratelimiter_decisions_total{result=\"allowed\"} 0".to_owned(),
            "ratelimiter_decisions_total{result=\"denied\"} 0".to_owned(),
            format!("ratelimiter_degraded_decisions_total{{stance=\"{label}\"}} 2"),
        ] {
            assert!(page.contains(&line), "{line} in\n{page}");
        }
    }
}

/// Readiness follows the store without any traffic.
#[tokio::test]
async fn readiness_that_wants_a_store_fails_and_recovers_by_itself() {
    let (server, fails) = switched(Stance::Deny, true).await;
    fails.store(true, Ordering::Relaxed);
    for (status, body) in [(503, "not ready\n"), (200, "ready\n")] {
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            let ready = server.get("/ready").await;
            if (ready.status, ready.body.as_str()) == (status, body) {
                break;
            }
            assert!(Instant::now() < until, "{ready:?}");
            sleep(Duration::from_millis(50)).await;
        }
        fails.store(false, Ordering::Relaxed);
    }
}

/// A store that never answered is not taken to be there, on either face.
#[tokio::test]
async fn nothing_is_ready_before_the_store_has_answered() {
    let relay = Relay::start(0, Fault::Silent).await;
    let mut settings = over_redis(relay.port(), Stance::Deny, Span::from_secs(30));
    settings.ready_requires_store = true;
    let server = start_over(&settings, Backend::of(&settings.store)).await;
    let ready = server.get("/ready").await;
    assert_eq!((ready.status, ready.body.as_str()), (503, "not ready\n"));
    let mut health = HealthClient::new(server.channel().await);
    let answer = health.check(HealthCheckRequest { service: String::new() }).await;
    let status = answer.expect("health").into_inner().status();
    assert_eq!(status, ServingStatus::NotServing);
}

/// A port that nobody listens on.
async fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Settings over the Redis behind this port.
fn over_redis(port: u16, stance: Stance, timeout: Span) -> Settings {
    let mut settings = settings([bucket("default", "2/hour")]);
    settings.on_store_error = stance;
    settings.store = StoreSettings::Redis(RedisConfig {
        address: Address::Tcp { host: "127.0.0.1".into(), port },
        password: Some(tidegate_redis::Secret::new("a password")),
        timeout,
        ..RedisConfig::default()
    });
    settings
}

/// The stance is taken within the deadline, on every face.
async fn assert_stance_in_time(server: &Running, stance: Stance, fault: &str) {
    let answered = timeout(Duration::from_secs(5), assert_stance(server, stance)).await;
    assert!(answered.is_ok(), "{fault} {stance:?}: no answer in time");
    let started = Instant::now();
    server.limit(&[("X-Client-Key", "a")]).await;
    // The deadline, and time for a busy machine to notice it.
    assert!(started.elapsed() < Duration::from_millis(600), "{fault} {stance:?}");
    assert_eq!(server.get("/ready").await.body, "degraded\n", "{fault}");
}

/// P02: the service starts over a Redis that is not there, and answers by its stance in time.
#[tokio::test]
async fn the_stance_holds_from_the_start_over_every_fault_of_redis() {
    for stance in [Stance::Deny, Stance::Allow] {
        for fault in [Fault::Silent, Fault::Hangup, Fault::WrongPassword] {
            let relay = Relay::start(closed_port().await, fault).await;
            let settings = over_redis(relay.port(), stance, Span::from_millis(100));
            let server = start_over(&settings, Backend::of(&settings.store)).await;
            assert_stance_in_time(&server, stance, &format!("{fault:?}")).await;
        }
        let settings = over_redis(closed_port().await, stance, Span::from_millis(100));
        let server = start_over(&settings, Backend::of(&settings.store)).await;
        assert_stance_in_time(&server, stance, "closed").await;
    }
}

/// P02: the same when a fault comes while the service runs; and when it has gone, so has the stance.
#[tokio::test]
async fn the_stance_holds_while_any_fault_of_redis_lasts_and_no_longer() {
    let redis = RedisServer::start(&["--requirepass", "a password"]);
    for stance in [Stance::Deny, Stance::Allow] {
        for fault in [Fault::Silent, Fault::Hangup, Fault::WrongPassword] {
            let relay = Relay::start(redis.port(), Fault::None).await;
            let settings = over_redis(relay.port(), stance, Span::from_millis(250));
            let server = start_over(&settings, Backend::of(&settings.store)).await;
            let key = format!("{stance:?} {fault:?}");
            let ask = async || server.limit(&[("X-Client-Key", &key)]).await.status;
            assert_ready(&server).await;
            assert_eq!(ask().await, 200, "{key}");
            relay.set(fault);
            assert_stance_in_time(&server, stance, &format!("{fault:?}")).await;
            relay.set(Fault::None);
            assert_ready(&server).await;
            assert_eq!((ask().await, ask().await), (200, 429), "{key}");
        }
    }
}

/// The service finds its store, in time and without traffic.
async fn assert_ready(server: &Running) {
    let until = Instant::now() + Duration::from_secs(5);
    while server.get("/ready").await.body != "ready\n" {
        assert!(Instant::now() < until, "the store is not found");
        sleep(Duration::from_millis(20)).await;
    }
}

/// P02, P04: a Redis that stops and comes back: the stance in between, and its own count after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_may_stop_and_come_back() {
    for stance in [Stance::Deny, Stance::Allow] {
        let mut redis = RedisServer::start(&["--requirepass", "a password"]);
        let settings = over_redis(redis.port(), stance, Span::from_millis(500));
        let server = start_over(&settings, Backend::of(&settings.store)).await;
        let ask = async |key| server.limit(&[("X-Client-Key", key)]).await.status;
        for (key, expected) in [("used", 200), ("used", 200), ("used", 429)] {
            assert_eq!(ask(key).await, expected);
        }
        redis.stop();
        assert_stance(&server, stance).await;
        redis.restart();
        assert_ready(&server).await;
        for expected in [200, 200, 429] {
            assert_eq!(ask("fresh").await, expected);
        }
    }
}
