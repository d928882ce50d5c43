//! What the tests share: stores on a server, on the server's clock or on a test's own.

use std::sync::Arc;

use tidegate::{
    Amount, Check, Cost, Decision, Key, Limit, ManualClock, Policy, Span, Store, Timestamp,
};
use tidegate_redis::{Address, RedisConfig, RedisStore};
use tidegate_testkit::RedisServer;

/// An ordinary time, 2026-12-01T00:00:00Z.
pub(crate) const DAY: Timestamp = Timestamp::from_secs(1_796_083_200);

/// How to reach a server, with patience for a busy machine.
pub(crate) fn config(server: &RedisServer) -> RedisConfig {
    at_port(server.port(), Span::from_secs(20))
}

pub(crate) fn at_port(port: u16, timeout: Span) -> RedisConfig {
    RedisConfig {
        address: Address::Tcp { host: "127.0.0.1".into(), port },
        timeout,
        ..RedisConfig::default()
    }
}

/// A server, and a store on it whose time stands at [`DAY`] until it is moved.
pub(crate) fn with_clock() -> (RedisServer, RedisStore, Arc<ManualClock>) {
    let server = RedisServer::start(&[]);
    let clock = Arc::new(ManualClock::new(DAY));
    let store = RedisStore::with_test_clock(config(&server), clock.clone());
    (server, store, clock)
}

pub(crate) fn units(count: u64) -> Amount {
    Amount::from_units(count)
}

pub(crate) fn policy(limits: impl IntoIterator<Item = Limit>) -> Policy {
    Policy::new("p", limits).unwrap()
}

pub(crate) fn bucket(text: &str) -> Policy {
    policy([Limit::quota("l", text).unwrap()])
}

pub(crate) fn fixed(max: u64, window: Span) -> Policy {
    policy([Limit::fixed_window("l", units(max), window).unwrap()])
}

pub(crate) fn rolling(max: u64, window: Span) -> Policy {
    policy([Limit::rolling_window("l", units(max), window).unwrap()])
}

pub(crate) fn sliding(max: u64, window: Span) -> Policy {
    policy([Limit::sliding_window("l", units(max), window).unwrap()])
}

/// Takes `cost` for the key `k`.
pub(crate) async fn take(store: &RedisStore, policy: &Policy, cost: Cost) -> Decision {
    take_for(store, "k", policy, cost).await
}

pub(crate) async fn take_for(
    store: &RedisStore,
    key: &str,
    policy: &Policy,
    cost: Cost,
) -> Decision {
    let check = Check::take(Key::new(key).unwrap(), policy, cost);
    store.take(&[check]).await.unwrap().decisions()[0]
}

/// How many of `count` takes of one unit are allowed.
pub(crate) async fn allowed(store: &RedisStore, policy: &Policy, count: usize) -> usize {
    let mut allowed = 0;
    for _ in 0..count {
        allowed += usize::from(take(store, policy, Cost::ONE).await.is_allowed());
    }
    allowed
}

/// The milliseconds a key has to live; -1 for ever, -2 when there is none.
pub(crate) fn pttl(server: &RedisServer, key: &str) -> i64 {
    server.command(&["PTTL", key]).parse().unwrap()
}
