//! Over Redis, through the same API.

use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::dev::{Service, ServiceRequest, Transform};
use actix_web::{Error, HttpResponse};
use tidegate::{Limiter, Span};
use tidegate_actix::{Degraded, OnStoreError, RateLimit};
use tidegate_redis::{Address, RedisConfig, RedisStore};
use tidegate_testkit::{RedisServer, free_port};
use tokio::time::timeout;

use crate::fixture::{Answer, By, from, passed, quota, read, send, statuses};

fn limiter(port: u16) -> Limiter<RedisStore> {
    let address = Address::Tcp { host: "127.0.0.1".into(), port };
    let timeout = Span::from_millis(500);
    let store = RedisStore::new(RedisConfig { address, timeout, ..RedisConfig::default() });
    Limiter::new(store, quota("api", "3/hour"))
}

/// What a request gets when the store cannot answer.
async fn without_store(stance: OnStoreError) -> Answer {
    let limit = RateLimit::new(limiter(free_port())).on_store_error(stance);
    let service = limit.new_transform(By(async |request: ServiceRequest| {
        let is_degraded = request.extensions().contains::<Degraded>();
        let body = if is_degraded { "degraded" } else { "as usual" };
        Ok::<_, Error>(request.into_response(HttpResponse::Ok().body(body)))
    }));
    let service = service.await.unwrap();
    read(service.call(from("192.0.2.1").to_srv_request()).await.unwrap()).await
}

/// P02: the stance, and nothing else, says what becomes of a request then.
#[actix_web::test]
async fn a_store_that_is_away_is_answered_by_the_stance() {
    let denied = without_store(OnStoreError::Deny).await;
    assert_eq!((denied.status, denied.body.as_str()), (503, "service unavailable\n"));
    assert_eq!(denied.header("x-ratelimit-degraded"), None);
    assert_eq!(denied.header("retry-after"), None);
    let allowed = without_store(OnStoreError::Allow).await;
    assert_eq!((allowed.status, allowed.body.as_str()), (200, "degraded"));
    assert_eq!(allowed.header("x-ratelimit-degraded").as_deref(), Some("1"));
    assert_eq!(allowed.header("ratelimit"), None, "nothing is known");
}

/// P04: what the store denies is denied, whatever the stance; two processes are as two stores here.
#[actix_web::test]
async fn two_that_share_a_server_share_their_limits() {
    let server = RedisServer::start(&[]);
    let limits = [server.port(); 2]
        .map(|port| RateLimit::new(limiter(port)).on_store_error(OnStoreError::Allow));
    assert_eq!(passed(&statuses(&limits[0], 2, || from("192.0.2.1")).await), 2);
    assert_eq!(passed(&statuses(&limits[1], 3, || from("192.0.2.1")).await), 1);
    let answer = send(&limits[0], from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (429, "rate limit exceeded\n"));
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(answer.header("x-ratelimit-degraded"), None);
}

/// What a store elsewhere is told once a request is over, it is told by a task.
#[actix_web::test]
async fn a_refund_reaches_the_server() {
    let server = RedisServer::start(&[]);
    let limit = RateLimit::new(limiter(server.port())).refund_if(|_| true);
    let all_pass = async {
        for _ in 0..10 {
            // A denial changes nothing, and is over once the task has run.
            while send(&limit, from("192.0.2.1")).await.status != 200 {
                tokio::task::yield_now().await;
            }
        }
    };
    timeout(Duration::from_secs(20), all_pass).await.unwrap();
}
