//! One store or one connection for several limiters, and what is left when they are gone.

use std::time::Duration;

use redis::aio::ConnectionManager;
use tidegate::{Cost, Key, Limit, Limiter, Policy, Span};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;

use crate::fixture::config;

fn policy(name: &str) -> Policy {
    Policy::new(name, [Limit::quota("burst", "2/day").unwrap()]).unwrap()
}

/// Of three takes of one unit, how many pass.
async fn of_three(limiter: &Limiter<RedisStore>) -> usize {
    let mut passed = 0;
    for _ in 0..3 {
        let verdict = limiter.check_async(Key::new("alice").unwrap(), Cost::ONE).await;
        passed += usize::from(verdict.unwrap().is_allowed());
    }
    passed
}

#[tokio::test]
async fn limiters_over_one_store_are_kept_apart_by_the_names_of_their_policies() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    assert_eq!(of_three(&Limiter::new(store.clone(), policy("api"))).await, 2);
    assert_eq!(of_three(&Limiter::new(store.clone(), policy("login"))).await, 2);
    assert_eq!(of_three(&Limiter::new(store, policy("api"))).await, 0);
}

#[tokio::test]
async fn stores_over_an_applications_connection_are_kept_apart_by_their_prefixes() {
    let server = RedisServer::start(&[]);
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", server.port())).unwrap();
    let manager = ConnectionManager::new(client).await.unwrap();
    let store = |prefix| RedisStore::with_connection(manager.clone(), prefix, Span::from_secs(20));
    assert_eq!(of_three(&Limiter::new(store("one"), policy("api"))).await, 2);
    assert_eq!(of_three(&Limiter::new(store("two"), policy("api"))).await, 2);
    assert_eq!(of_three(&Limiter::new(store("one"), policy("api"))).await, 0);
    // The application's own use of the connection goes on beside it, and after it.
    let mut own = manager.clone();
    let pong: String = redis::cmd("PING").query_async(&mut own).await.unwrap();
    assert_eq!(pong, "PONG");
}

/// How many clients the server has, but for the one that asks.
fn clients(server: &RedisServer) -> usize {
    server.command(&["CLIENT", "LIST"]).matches("addr=").count() - 1
}

#[tokio::test]
async fn a_dropped_store_leaves_no_task_and_no_connection_behind() {
    let server = RedisServer::start(&[]);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = (tasks(), clients(&server));
    let store = RedisStore::new(config(&server));
    let limiter = Limiter::new(store.clone(), policy("api"));
    assert_eq!(of_three(&limiter).await, 2);
    drop(store);
    assert!(tasks() > before.0 && clients(&server) > before.1, "a clone keeps the store alive");
    drop(limiter);
    for _ in 0..500 {
        if (tasks(), clients(&server)) == before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("tasks and clients are {:?}, were {before:?}", (tasks(), clients(&server)));
}
