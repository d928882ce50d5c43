//! P02: each way in which Redis can be away, each stance, from the start and entered while running.

use std::time::Duration;

use tidegate_testkit::{RedisServer, free_port};
use tidegate_tower::{OnStoreError, RateLimitLayer};
use tokio::time::Instant;

use crate::relay::{Fault, Relay};
use crate::through::{Answer, TIMEOUT, limiter, send};

const STANCES: [OnStoreError; 2] = [OnStoreError::Allow, OnStoreError::Deny];
const FAULTS: [Fault; 3] = [Fault::Silent, Fault::Hangup, Fault::WrongPassword];
const PEER: [u8; 4] = [192, 0, 2, 1];

type Layer = RateLimitLayer<tidegate_redis::RedisStore>;

fn layer(port: u16, stance: OnStoreError) -> Layer {
    RateLimitLayer::new(limiter(port, None, "1000/hour")).on_store_error(stance)
}

/// What a request gets without the store.
fn without_store(stance: OnStoreError) -> Answer {
    let (status, body, is_degraded) = match stance {
        OnStoreError::Allow => (200, "degraded", true),
        OnStoreError::Deny => (503, "service unavailable\n", false),
    };
    Answer { status, body: body.into(), is_degraded }
}

/// Every answer is that of the stance, and in time. One that this machine itself was late with is no
/// reason to fail.
async fn expect_stance(layer: &Layer, stance: OnStoreError, what: &str) {
    let mut times = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        assert_eq!(send(layer, PEER).await, without_store(stance), "{what}");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let bound = Duration::from(TIMEOUT) + Duration::from_millis(50);
    assert!(times[4] <= bound, "{what}: {times:?}");
}

/// The store is asked again, and its answers count, once it is back.
async fn expect_recovery(layer: &Layer, what: &str) {
    let start = Instant::now();
    let usual = Answer { status: 200, body: "as usual".into(), is_degraded: false };
    while send(layer, PEER).await != usual {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: does not recover");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_layer_that_starts_without_its_store_takes_its_stance() {
    for stance in STANCES {
        expect_stance(&layer(free_port(), stance), stance, "closed port").await;
        let server = RedisServer::start(&[]);
        for fault in FAULTS {
            let relay = Relay::start(server.port(), fault).await;
            let layer = layer(relay.port(), stance);
            expect_stance(&layer, stance, &format!("{fault:?}")).await;
            relay.set(Fault::None);
            expect_recovery(&layer, &format!("{fault:?}")).await;
        }
    }
}

#[tokio::test]
async fn a_layer_that_loses_its_store_takes_its_stance_until_it_is_back() {
    for stance in STANCES {
        let mut server = RedisServer::start(&[]);
        let direct = layer(server.port(), stance);
        expect_recovery(&direct, "at first").await;
        server.stop();
        expect_stance(&direct, stance, "stopped").await;
        server.restart();
        expect_recovery(&direct, "restarted").await;
        for fault in FAULTS {
            let relay = Relay::start(server.port(), Fault::None).await;
            let layer = layer(relay.port(), stance);
            expect_recovery(&layer, "at first").await;
            relay.set(fault);
            expect_stance(&layer, stance, &format!("{fault:?}")).await;
            relay.set(Fault::None);
            expect_recovery(&layer, &format!("{fault:?}")).await;
        }
    }
}

#[tokio::test]
async fn a_password_that_the_server_refuses_is_a_store_failure() {
    let server = RedisServer::start(&["--requirepass", "open sesame"]);
    for stance in STANCES {
        for password in [None, Some("close sesame")] {
            let limiter = limiter(server.port(), password, "1000/hour");
            let layer = RateLimitLayer::new(limiter).on_store_error(stance);
            expect_stance(&layer, stance, "refused").await;
        }
    }
}

/// P04: what the store denies is denied, whatever the stance is for a store that is away.
#[tokio::test]
async fn a_denial_is_no_failure() {
    let server = RedisServer::start(&[]);
    let layer = RateLimitLayer::new(limiter(server.port(), None, "2/hour"))
        .on_store_error(OnStoreError::Allow);
    for expected in [200, 200, 429, 429, 429] {
        let answer = send(&layer, PEER).await;
        assert_eq!((answer.status, answer.is_degraded), (expected, false));
    }
}

/// A client's mistake is not a store's failure either: it is refused though requests would pass.
#[tokio::test]
async fn without_a_key_a_request_is_refused_also_when_the_store_is_away() {
    let layer = layer(free_port(), OnStoreError::Allow).key_by(|_| None::<&str>);
    let answer = send(&layer, PEER).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, "the request has no key\n"));
}
