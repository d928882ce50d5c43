//! Many callers at once.

use std::time::Duration;

use tidegate::{Check, Cost, Key, Limit, Policy, Span, Store};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep_until};

use crate::fixture::{at_port, config, policy, rolling, units, with_clock};

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

/// P08: calls on one key do not wait for one another's round trip.
#[tokio::test]
async fn a_hot_key_is_no_convoy() {
    let server = RedisServer::start(&[]);
    let round_trip = Duration::from_millis(200);
    let port = slow_proxy(server.port(), round_trip / 2).await;
    let store = RedisStore::new(at_port(port, Span::from_secs(20)));
    let policy = rolling(1_000_000, DAY);
    storm(std::slice::from_ref(&store), &policy, 1, 1).await;
    let start = Instant::now();
    assert_eq!(storm(&[store], &policy, 200, 1).await, 200);
    // One after another they would take 40 s.
    assert!(start.elapsed() >= round_trip);
    assert!(start.elapsed() < 10 * round_trip, "{:?}", start.elapsed());
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
