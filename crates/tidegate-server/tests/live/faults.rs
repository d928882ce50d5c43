//! The store away, back, or cut off in the middle; a service killed; the original's configuration.

use std::thread::sleep;
use std::time::Duration;

use tidegate_testkit::RedisServer;

use crate::client::Client;
use crate::counts::redis;
use crate::process::{Service, until};

/// The original's example configuration with its address and password left open, its store and its
/// algorithm as the test has them.
fn original(store: &str, algorithm: &str, addr: &str, password: &str) -> String {
    format!(
        "store: \"{store}\"\nuse_algo: \"{algorithm}\"\n\
         metrics: {{ use_prometheus: true, port: 9091 }}\n\
         algo_settings: {{ capacity: 10, rate: 0.1, window_size: 100, max_requests: 10 }}\n\
         backends:\n  \
         in_memory: {{ default_ttl: 30, eviction_time: 120, shards_count: 256 }}\n  \
         redis: {{ addr: \"{addr}\", password: \"{password}\", db: 0, default_ttl: 1000 }}\n"
    )
}

#[test]
fn the_originals_configuration_starts_on_both_stores_with_each_of_its_algorithms() {
    let server = RedisServer::start(&["--requirepass", "open sesame"]);
    let address = format!("127.0.0.1:{}", server.port());
    for store in ["in_memory", "redis"] {
        for algorithm in ["token_bucket", "fixed_window", "rolling_window"] {
            let config = original(store, algorithm, &address, "open sesame");
            let service = Service::start(&config);
            let mut client = Client::connect(service.http);
            let key = format!("{store}-{algorithm}");
            let answers: Vec<u16> = (0..11).map(|_| client.limit(&key).status).collect();
            assert_eq!(answers[..10], [200; 10], "{store} {algorithm}:\n{}", service.log());
            assert_eq!(answers[10], 429, "{store} {algorithm}");
            assert!(!service.log().contains("open sesame"), "{}", service.log());
        }
    }
}

#[test]
fn with_redis_unreachable_the_service_starts_answers_503_and_recovers() {
    let mut server = RedisServer::start(&["--requirepass", "open sesame"]);
    let address = format!("127.0.0.1:{}", server.port());
    server.stop();
    let service = Service::start(&original("redis", "token_bucket", &address, "open sesame"));
    let mut client = Client::connect(service.http);
    for _ in 0..5 {
        let answer = client.limit("alice");
        assert_eq!((answer.status, answer.body.as_str()), (503, "rate limiter error\n"));
    }
    service.wait_for("store unavailable");
    server.restart();
    let recovered = until("the service finds Redis", || {
        Some(client.limit("alice").status).filter(|status| *status != 503)
    });
    assert_eq!(recovered, 200);
    assert!(!service.log().contains("open sesame"), "{}", service.log());
}

/// A password that is refused is not told to whoever reads the log.
#[test]
fn a_password_that_is_refused_is_not_logged() {
    let server = RedisServer::start(&["--requirepass", "open sesame"]);
    let address = format!("127.0.0.1:{}", server.port());
    let service = Service::start(&original("redis", "token_bucket", &address, "close sesame"));
    let answer = Client::connect(service.http).limit("alice");
    assert_eq!((answer.status, answer.body.as_str()), (503, "rate limiter error\n"));
    service.wait_for("store refused the credentials");
    assert!(!service.log().contains("sesame"), "{}", service.log());
}

/// P55 (a): whatever is cut off in the middle, no key is left without a time to live.
#[test]
fn no_key_is_left_without_a_time_to_live_when_services_are_killed() {
    let server = RedisServer::start(&[]);
    let limits = "policies:\n  default:\n    limits:\n      \
                  - { name: bucket, algorithm: token_bucket, capacity: 5, rate: 1/minute }\n      \
                  - { name: log, algorithm: rolling_window, max_requests: 5, window_size: 1h }\n      \
                  - { name: count, algorithm: fixed_window, max_requests: 9, window_size: 1h }\n      \
                  - { name: slide, algorithm: sliding_window, max_requests: 9, window_size: 1h }\n";
    for round in 0..10 {
        let mut service = Service::start(&redis(&server, limits));
        let port = service.http;
        std::thread::scope(|scope| {
            for client in 0..8 {
                scope.spawn(move || hammer(port, round, client));
            }
            sleep(Duration::from_millis(60));
            service.stop("KILL");
        });
    }
    let keys = server.command(&["KEYS", "*"]);
    let keys: Vec<&str> = keys.lines().collect();
    assert!(keys.len() > 1_000, "the load reached Redis: {} keys", keys.len());
    for key in keys {
        let ttl: i64 = server.command(&["PTTL", key]).trim().parse().expect("a number");
        assert!(ttl > 0, "{key} has a time to live of {ttl}");
    }
}

/// Asks for one new key after another until the service is gone.
fn hammer(port: u16, round: usize, client: usize) {
    let Ok(mut connection) = Client::try_connect(port) else {
        return;
    };
    for number in 0.. {
        if connection.try_limit(&format!("{round}-{client}-{number}")).is_err() {
            return;
        }
    }
}
