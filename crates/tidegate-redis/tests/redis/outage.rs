//! The server slow, gone, or not a server at all: every call ends in time with the right error, and
//! the store comes back by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use tidegate::{Check, Cost, Key, Span, Store, StoreErrorKind};
use tidegate_redis::{RedisConfig, RedisStore, Secret};
use tidegate_testkit::RedisServer;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use crate::fixture::{allowed, at_port, bucket, config};

const TIMEOUT: Span = Span::from_millis(200);
/// What a busy test machine may add to a deadline.
const SLACK: Duration = Duration::from_millis(500);
/// How soon after a server's return calls succeed again.
const RETURN: Duration = Duration::from_secs(2);

/// One take; the kind of its error, if any. It must end in time.
async fn attempt(store: &RedisStore) -> Result<(), StoreErrorKind> {
    let start = Instant::now();
    let policy = bucket("1000000/day");
    let check = Check::take(Key::new("k").unwrap(), &policy, Cost::ONE);
    let answer = store.take(&[check]).await;
    assert!(start.elapsed() < Duration::from(TIMEOUT) + SLACK, "{:?}", start.elapsed());
    answer.map(|_| ()).map_err(|error| error.kind())
}

/// Many attempts at the same time, all with the same end.
async fn attempts(store: &RedisStore, expected: Result<(), StoreErrorKind>) {
    let all: Vec<_> = (0..20)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { attempt(&store).await })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), expected);
    }
}

/// Attempts every 20 ms until one succeeds, which must be soon; none may fail in an odd way.
async fn returns(store: &RedisStore) {
    let start = Instant::now();
    while let Err(kind) = attempt(store).await {
        assert!(start.elapsed() < RETURN, "still {kind:?} after {:?}", start.elapsed());
        let usual = matches!(kind, StoreErrorKind::Unavailable | StoreErrorKind::Timeout);
        assert!(usual, "{kind:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

fn store_at(port: u16) -> RedisStore {
    RedisStore::new(at_port(port, TIMEOUT))
}

/// A listener that does this with every connection; its port, and how many it accepted.
async fn listener(keep: bool) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            if keep {
                kept.push(connection);
            }
        }
    });
    (port, accepted)
}

/// P02: a port nobody listens on.
#[tokio::test]
async fn a_refused_connection_is_unavailable() {
    let port = RedisServer::start(&[]).port();
    let store = store_at(port);
    attempts(&store, Err(StoreErrorKind::Unavailable)).await;
    assert_eq!(store.ping().await.unwrap_err().kind(), StoreErrorKind::Unavailable);
}

/// P02: a listener that never replies. Callers leave at their deadline, and later ones at once.
#[tokio::test]
async fn a_silent_listener_is_a_timeout() {
    let (port, _) = listener(true).await;
    let store = store_at(port);
    attempts(&store, Err(StoreErrorKind::Timeout)).await;
    sleep(Duration::from_millis(1_300)).await;
    let start = Instant::now();
    attempts(&store, Err(StoreErrorKind::Timeout)).await;
    assert!(start.elapsed() < Duration::from(TIMEOUT), "{:?}", start.elapsed());
}

/// P02, P07: a listener that hangs up is unavailable, and is not stormed.
#[tokio::test]
async fn a_listener_that_hangs_up_is_not_stormed() {
    let (port, accepted) = listener(false).await;
    let store = store_at(port);
    attempts(&store, Err(StoreErrorKind::Unavailable)).await;
    sleep(Duration::from_secs(1)).await;
    let before = accepted.load(Ordering::Relaxed);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        attempts(&store, Err(StoreErrorKind::Unavailable)).await;
        sleep(Duration::from_millis(5)).await;
    }
    let during = accepted.load(Ordering::Relaxed) - before;
    assert!((1..=20).contains(&during), "{during} connections in two seconds");
}

/// P02: a wrong password, a missing one, and one that is wrong only for this user.
#[tokio::test]
async fn a_wrong_password_is_refused() {
    let server = RedisServer::start(&["--requirepass", "sword"]);
    for password in [Some("fish"), None] {
        for db in [0, 1] {
            let store = RedisStore::new(RedisConfig {
                password: password.map(Secret::new),
                db,
                ..at_port(server.port(), TIMEOUT)
            });
            attempts(&store, Err(StoreErrorKind::Auth)).await;
        }
    }
    let store = RedisStore::new(RedisConfig {
        password: Some(Secret::new("sword")),
        ..at_port(server.port(), TIMEOUT)
    });
    attempts(&store, Ok(())).await;
}

/// P02, P05 (b): a server that goes away and comes back empty, while calls come in.
#[tokio::test]
async fn a_restarted_server_serves_again() {
    let mut server = RedisServer::start(&[]);
    let store = store_at(server.port());
    attempts(&store, Ok(())).await;
    for _ in 0..2 {
        server.stop();
        // What was under way is lost once; from then on calls are refused.
        let _ = attempt(&store).await;
        sleep(Duration::from_millis(100)).await;
        attempts(&store, Err(StoreErrorKind::Unavailable)).await;
        sleep(Duration::from_millis(700)).await;
        server.restart();
        returns(&store).await;
        attempts(&store, Ok(())).await;
    }
}

/// A store made while its server is away finds it later.
#[tokio::test]
async fn a_store_may_start_before_its_server() {
    let mut server = RedisServer::start(&[]);
    server.stop();
    let store = store_at(server.port());
    attempts(&store, Err(StoreErrorKind::Unavailable)).await;
    server.restart();
    returns(&store).await;
}

/// P01, P02: a server that hangs. Calls leave at their deadline; when it hangs on they leave at once.
#[tokio::test]
async fn a_hanging_server_is_a_timeout_and_comes_back() {
    let server = RedisServer::start(&[]);
    let store = store_at(server.port());
    attempts(&store, Ok(())).await;
    server.pause();
    attempts(&store, Err(StoreErrorKind::Timeout)).await;
    server.resume();
    returns(&store).await;

    server.pause();
    attempts(&store, Err(StoreErrorKind::Timeout)).await;
    sleep(Duration::from_millis(2_500)).await;
    let start = Instant::now();
    let failed = attempt(&store).await;
    assert!(failed.is_err() && start.elapsed() < Duration::from(TIMEOUT), "{failed:?}");
    server.resume();
    returns(&store).await;
    attempts(&store, Ok(())).await;
}

/// A store whose first runtime is gone goes on in another.
#[test]
fn a_store_outlives_a_runtime() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    for _ in 0..2 {
        assert_eq!(runtime().block_on(allowed(&store, &bucket("9/day"), 2)), 2);
    }
}

/// Dropping the last clone of a store closes its connection.
#[tokio::test]
async fn dropping_a_store_ends_its_connection() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    attempts(&store, Ok(())).await;
    // One of them is the one that asks.
    let clients = || server.command(&["CLIENT", "LIST"]).trim_end().lines().count();
    assert_eq!(clients(), 2);
    drop(store.clone());
    attempts(&store, Ok(())).await;
    drop(store);
    let start = Instant::now();
    while clients() > 1 {
        assert!(start.elapsed() < RETURN, "the connection is still there");
        sleep(Duration::from_millis(10)).await;
    }
}

/// An application's own connection serves, with the store's deadline.
#[tokio::test]
async fn an_applications_connection_serves() {
    let server = RedisServer::start(&[]);
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/5", server.port())).unwrap();
    let settings = ConnectionManagerConfig::new().set_response_timeout(None);
    let manager = ConnectionManager::new_lazy_with_config(client, settings).unwrap();
    let store = RedisStore::with_connection(manager, "mine", TIMEOUT);
    attempts(&store, Ok(())).await;
    assert!(server.command(&["INFO", "keyspace"]).contains("db5:keys=1"));
    server.pause();
    attempts(&store, Err(StoreErrorKind::Timeout)).await;
    server.resume();
    returns(&store).await;
}
