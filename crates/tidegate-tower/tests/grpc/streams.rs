//! Streams: as calls, and message by message.

use tidegate_redis::{Address, RedisConfig, RedisStore};
use tidegate_testkit::{RedisServer, free_port};
use tidegate_tower::{MessageLimitLayer, OnStoreError, PeerIp, RateLimitLayer};
use tonic::{Code, Status};
use tower::layer::util::Stack;

use crate::server::{Client, QuotaFailure, RetryInfo, detail, limiter, serve};

/// Sends messages one by one and gives how many came back, and how the stream ended.
async fn echoed(client: &mut Client, messages: usize) -> (usize, Result<(), Status>) {
    let (sender, answers) = client.each().await;
    let mut answers = match answers {
        Ok(answers) => answers,
        Err(status) => return (0, Err(status)),
    };
    for number in 0..messages {
        let message = "x".repeat(number * 1_000);
        if sender.send(message.clone()).await.is_err() {
            return (number, Ok(()));
        }
        match answers.message().await {
            Ok(Some(answer)) => assert_eq!(answer, message),
            Ok(None) => return (number, Ok(())),
            Err(status) => return (number, Err(status)),
        }
    }
    (messages, Ok(()))
}

#[tokio::test]
async fn a_stream_is_one_call() {
    let layer = RateLimitLayer::new(limiter("2/hour"));
    let mut client = Client::connect(serve(layer).await).await;
    for _ in 0..2 {
        let (count, ended) = echoed(&mut client, 50).await;
        assert_eq!(count, 50);
        ended.unwrap();
    }
    let (count, ended) = echoed(&mut client, 50).await;
    let denied = ended.unwrap_err();
    assert_eq!((count, denied.code()), (0, Code::ResourceExhausted));
    assert_eq!(denied.message(), "rate limit exceeded");
    assert!(denied.metadata().get("retry-after").is_some());
}

fn assert_exhausted(status: &Status) {
    assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "rate limit exceeded"));
    let wait: u64 =
        status.metadata().get("retry-after").unwrap().to_str().unwrap().parse().unwrap();
    assert!(wait > 0);
    assert!(detail::<RetryInfo>(status, "RetryInfo").is_some());
    assert!(detail::<QuotaFailure>(status, "QuotaFailure").is_some());
}

#[tokio::test]
async fn the_first_message_too_many_ends_the_stream_with_the_whole_answer() {
    let layer = MessageLimitLayer::new(limiter("5/hour"), PeerIp::default());
    let mut client = Client::connect(serve(layer).await).await;
    let (count, ended) = echoed(&mut client, 50).await;
    assert_eq!(count, 5);
    assert_exhausted(&ended.unwrap_err());
    assert_exhausted(&client.once("a single message").await.unwrap_err());
}

#[tokio::test]
async fn calls_and_messages_are_limited_at_once() {
    let calls = RateLimitLayer::new(limiter("2/hour"));
    let messages = MessageLimitLayer::new(limiter("7/hour"), PeerIp::default());
    let mut client = Client::connect(serve(Stack::new(calls, messages)).await).await;
    let (count, ended) = echoed(&mut client, 5).await;
    assert_eq!(count, 5);
    ended.unwrap();
    let (count, ended) = echoed(&mut client, 5).await;
    assert_eq!(count, 2, "of messages");
    assert_exhausted(&ended.unwrap_err());
}

fn redis(port: u16) -> RedisStore {
    let address = Address::Tcp { host: "127.0.0.1".into(), port };
    RedisStore::new(RedisConfig { address, ..RedisConfig::default() })
}

#[tokio::test]
async fn messages_are_limited_over_redis_too() {
    let server = RedisServer::start(&[]);
    let policy = limiter("5/hour").policy().clone();
    let limiter = tidegate::Limiter::new(redis(server.port()), policy);
    let layer = MessageLimitLayer::new(limiter, PeerIp::default());
    let mut client = Client::connect(serve(layer).await).await;
    let (count, ended) = echoed(&mut client, 50).await;
    assert_eq!(count, 5);
    assert_exhausted(&ended.unwrap_err());
}

/// P02: whichever way the store is asked, its absence is Unavailable, or nothing at all.
#[tokio::test]
async fn without_its_store_a_call_is_unavailable_or_let_pass() {
    let policy = limiter("5/hour").policy().clone();
    let away = || tidegate::Limiter::new(redis(free_port()), policy.clone());
    for stance in [OnStoreError::Deny, OnStoreError::Allow] {
        let calls = RateLimitLayer::new(away()).on_store_error(stance);
        let messages = MessageLimitLayer::new(away(), PeerIp::default()).on_store_error(stance);
        let mut by_call = Client::connect(serve(calls).await).await;
        let mut by_message = Client::connect(serve(messages).await).await;
        for _ in 0..10 {
            let answers = [by_call.once("hello").await, by_message.once("hello").await];
            for answer in answers {
                match (stance, answer) {
                    (OnStoreError::Deny, Err(status)) => {
                        let expected = (Code::Unavailable, "service unavailable");
                        assert_eq!((status.code(), status.message()), expected);
                    }
                    (OnStoreError::Allow, Ok(answer)) => assert_eq!(answer.get_ref(), "hello"),
                    (stance, answer) => panic!("{stance:?}: {answer:?}"),
                }
            }
        }
        if stance == OnStoreError::Allow {
            let answer = by_call.once("hello").await.unwrap();
            assert_eq!(answer.metadata().get("x-ratelimit-degraded").unwrap(), "1");
        }
    }
}
