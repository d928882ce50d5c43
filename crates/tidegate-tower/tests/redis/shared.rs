//! What is the same as over a store in memory.

use tidegate::{Amount, Check, Key, Policy, Store};
use tidegate_testkit::RedisServer;
use tidegate_tower::{PeerIp, RateLimitLayer};

use crate::through::{limiter, send};

/// P10 (b): two layers with stores of their own, as two processes have them, and many requests at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layers_over_one_redis_allow_exactly_the_limit_together() {
    let server = RedisServer::start(&[]);
    let layers = [(); 2].map(|()| RateLimitLayer::new(limiter(server.port(), None, "20/hour")));
    let mut tasks = Vec::new();
    for number in 0..100 {
        let layer = layers[number % 2].clone();
        tasks.push(tokio::spawn(async move { send(&layer, [192, 0, 2, 1]).await.status }));
    }
    let mut allowed = 0;
    for task in tasks {
        match task.await.unwrap() {
            200 => allowed += 1,
            status => assert_eq!(status, 429),
        }
    }
    assert_eq!(allowed, 20);
}

#[tokio::test]
async fn several_keys_are_all_or_nothing() {
    let server = RedisServer::start(&[]);
    let special = Policy::new("special", [tidegate::Limit::quota("special", "3/hour").unwrap()]);
    let group = RateLimitLayer::new(limiter(server.port(), None, "10/hour")).key("group");
    let both = group.clone().and(special.unwrap(), PeerIp::default());
    for expected in [200, 200, 200, 429, 429] {
        assert_eq!(send(&both, [192, 0, 2, 1]).await.status, expected);
    }
    for expected in [200; 7].into_iter().chain([429]) {
        assert_eq!(send(&group, [192, 0, 2, 1]).await.status, expected);
    }
}

/// A key is readable in the store, and the one that the service's other faces would have for it.
#[tokio::test]
async fn keys_are_addresses_as_they_are_written() {
    let server = RedisServer::start(&[]);
    let layer = RateLimitLayer::new(limiter(server.port(), None, "10/hour"));
    send(&layer, [192, 0, 2, 1]).await;
    let keys = server.command(&["KEYS", "*"]);
    assert_eq!(keys, "tidegate:1:{192.0.2.1}:api:burst:token_bucket");
}

/// What is settled after the answer reaches a store elsewhere too.
#[tokio::test]
async fn the_true_cost_is_charged_by_a_task() {
    let server = RedisServer::start(&[]);
    let limiter = std::sync::Arc::new(limiter(server.port(), None, "100/hour"));
    let layer = RateLimitLayer::new(std::sync::Arc::clone(&limiter))
        .true_cost(|served| Amount::from_units(served.bytes()));
    assert_eq!(send(&layer, [192, 0, 2, 1]).await.body, "as usual");
    for _ in 0..1_000 {
        let key = Key::new("192.0.2.1").unwrap();
        let peek = Check::peek(key, limiter.policy(), Amount::ZERO);
        let verdict = limiter.store().take(&[peek]).await.unwrap();
        if verdict.decisions()[0].remaining.whole_units() == 92 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("eight bytes were never charged");
}
