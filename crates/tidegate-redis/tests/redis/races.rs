//! Many callers at once.

use std::time::Duration;

use tidegate::{Check, Cost, Key, Limit, Policy, Span, Store, StoreErrorKind};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fixture::{
    at_port, bucket, config, fixed, policy, rolling, sliding, take_for, units, with_clock,
};

const DAY: Span = Span::from_secs(86_400);

/// Takes one unit, `each` times in each of `tasks` tasks, over these stores in turn; how many passed.
async fn storm(stores: &[RedisStore], policy: &Policy, tasks: usize, each: usize) -> usize {
    let storms: Vec<_> = (0..tasks)
        .map(|task| {
            let (store, policy) = (stores[task % stores.len()].clone(), policy.clone());
            tokio::spawn(async move {
                let mut passed = 0;
                for _ in 0..each {
                    let check = Check::take(Key::new("k").unwrap(), &policy, Cost::ONE);
                    passed += usize::from(store.take(&[check]).await.unwrap().is_allowed());
                }
                passed
            })
        })
        .collect();
    let mut passed = 0;
    for storm in storms {
        passed += storm.await.unwrap();
    }
    passed
}

/// P10, P40: what several nodes and many tasks take together is exactly the limit, also when the race
/// itself makes the key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_passes_exactly_the_limit() {
    let server = RedisServer::start(&[]);
    let stores: Vec<RedisStore> = (0..3).map(|_| RedisStore::new(config(&server))).collect();
    for limit in [
        Limit::fixed_window_from_first("f", units(1_000), DAY).unwrap(),
        Limit::rolling_window("r", units(1_000), DAY).unwrap(),
    ] {
        assert_eq!(storm(&stores, &policy([limit]), 64, 40).await, 1_000);
    }
}

/// P11: requests of one instant are counted one by one: in turn, in one call, and all at once.
#[tokio::test]
async fn requests_of_one_instant_all_count() {
    let policy = rolling(5, Span::from_secs(10));
    let (_server, store, _) = with_clock();
    assert_eq!(storm(std::slice::from_ref(&store), &policy, 1, 20).await, 5);
    let (_server, store, _) = with_clock();
    assert_eq!(storm(std::slice::from_ref(&store), &policy, 20, 1).await, 5);
    let (_server, store, _) = with_clock();
    let check = Check::take(Key::new("k").unwrap(), &policy, Cost::ONE);
    let verdict = store.take_each(&[check; 20]).await.unwrap();
    let passed = verdict.decisions().iter().filter(|decision| decision.is_allowed());
    assert_eq!(passed.count(), 5);
}

/// P13: of several limits none is charged when one denies, and of several checks none.
#[tokio::test]
async fn a_denial_by_one_charges_none() {
    let (_server, store, _) = with_clock();
    let minute = Span::from_secs(60);
    let group = Limit::fixed_window("group", units(10), minute).unwrap();
    let special = Limit::fixed_window("special", units(3), minute).unwrap();
    let both = policy([group.clone(), special]);
    let plain = policy([group]);
    let check = |policy| Check::take(Key::new("k").unwrap(), policy, Cost::ONE);
    let mut passed = 0;
    for _ in 0..5 {
        passed += usize::from(store.take(&[check(&both)]).await.unwrap().is_allowed());
    }
    assert_eq!(passed, 3);
    let verdict = store.take(&[check(&plain), check(&both)]).await.unwrap();
    assert_eq!((verdict.is_allowed(), verdict.governing()), (false, 1));
    assert_eq!(storm(&[store], &plain, 1, 10).await, 7);
}

/// P85: of four tasks that ask for each of 2,000 fresh keys exactly one passes each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fresh_keys_of_limit_one_pass_exactly_once() {
    let server = RedisServer::start(&[]);
    let stores: Vec<RedisStore> = (0..2).map(|_| RedisStore::new(config(&server))).collect();
    for policy in [bucket("1/day"), fixed(1, DAY), rolling(1, DAY), sliding(1, DAY)] {
        let storms: Vec<_> = (0..4)
            .map(|task| {
                let (store, policy) = (stores[task % 2].clone(), policy.clone());
                tokio::spawn(async move {
                    let mut passed = 0;
                    for key in 0..2_000 {
                        let decision = take_for(&store, &key.to_string(), &policy, Cost::ONE).await;
                        passed += usize::from(decision.is_allowed());
                    }
                    passed
                })
            })
            .collect();
        let mut passed = 0;
        for storm in storms {
            passed += storm.await.unwrap();
        }
        assert_eq!(passed, 2_000, "{policy:?}");
    }
}

/// The time there and back through a slow proxy.
const ROUND_TRIP: Duration = Duration::from_millis(200);
/// What a busy machine may add to 200 calls at once.
const SCHEDULING: Duration = Duration::from_millis(500);

/// Asks 200 times at once, for so many keys in turn; how long the slowest took, and the kinds of
/// errors there were.
async fn two_hundred_at_once(store: &RedisStore, keys: usize) -> (Duration, Vec<StoreErrorKind>) {
    let policy = rolling(1_000_000, DAY);
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let (store, policy) = (store.clone(), policy.clone());
            tokio::spawn(async move {
                let key = (number % keys).to_string();
                let start = Instant::now();
                let check = Check::take(Key::new(&key).unwrap(), &policy, Cost::ONE);
                let answer = store.take(&[check]).await;
                (start.elapsed(), answer.err().map(|error| error.kind()))
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    let mut errors = Vec::new();
    for call in calls {
        let (elapsed, error) = call.await.unwrap();
        slowest = slowest.max(elapsed);
        errors.extend(error);
    }
    (slowest, errors)
}

/// P08: calls do not wait for one another's round trip, on one key as little as on many. One after
/// another they would take 40 s.
#[tokio::test]
async fn a_hot_key_is_no_convoy() {
    let server = RedisServer::start(&[]);
    let port = slow_proxy(server.port(), ROUND_TRIP / 2).await;
    let store = RedisStore::new(at_port(port, Span::from_secs(20)));
    store.ping().await.unwrap();
    // The script is sent once, in a round trip of its own.
    two_hundred_at_once(&store, 1).await;
    for keys in [1, 200] {
        let (slowest, errors) = two_hundred_at_once(&store, keys).await;
        assert!(errors.is_empty(), "{errors:?}");
        assert!(slowest >= ROUND_TRIP, "{slowest:?} on {keys} keys");
        assert!(slowest < ROUND_TRIP * 3 / 2 + SCHEDULING, "{slowest:?} on {keys} keys");
    }
}

/// P08: a server that is farther away than the deadline: each call ends at its own deadline, and none
/// queues behind another.
#[tokio::test]
async fn a_deadline_holds_for_each_of_many_calls() {
    let server = RedisServer::start(&[]);
    let port = slow_proxy(server.port(), ROUND_TRIP / 2).await;
    let deadline = Duration::from_millis(100);
    let store = RedisStore::new(at_port(port, deadline.into()));
    // The connection is opened meanwhile, with more patience than a call has.
    assert_eq!(store.ping().await.map_err(|error| error.kind()), Err(StoreErrorKind::Timeout));
    sleep(5 * ROUND_TRIP).await;
    for keys in [1, 200] {
        let (slowest, errors) = two_hundred_at_once(&store, keys).await;
        assert_eq!(errors, vec![StoreErrorKind::Timeout; 200], "on {keys} keys");
        assert!(slowest < deadline + SCHEDULING, "{slowest:?} on {keys} keys");
    }
}

/// A port that leads to another one, each way with a delay and in order.
async fn slow_proxy(port: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (near_read, near_write) = near.into_split();
            let (far_read, far_write) = far.into_split();
            carry(near_read, far_write, delay);
            carry(far_read, near_write, delay);
        }
    });
    own
}

fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut receiver) = unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            if sender.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((due, bytes)) = receiver.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
}
