//! Connections killed, stores dropped and the server restarted while calls are under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tidegate::{Check, Cost, Key, Policy, Span, Store, StoreError, StoreErrorKind};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;
use tokio::time::sleep;

use crate::fixture::{at_port, bucket, config, fixed, policy, rolling, sliding};

const HOUR: Span = Span::from_secs(3_600);

/// A limit of every algorithm, one of them with a spacing.
fn every_algorithm() -> [Policy; 5] {
    let spaced = bucket("5/hour").limits()[0].clone().with_min_interval(Span::from_secs(1));
    let [a, b, c] = [fixed(3, HOUR), rolling(3, HOUR), sliding(3, HOUR)];
    [a, b, c, bucket("3/hour"), policy([spaced.unwrap()])]
}

/// What a store whose server is cut off may say.
fn is_an_outage(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::Timeout)
}

/// Takes, debits and gives back for keys of its own until something fails.
async fn use_until_failure(store: RedisStore, seed: usize) {
    let policies = every_algorithm();
    for turn in 0..10_000 {
        let name = ((seed * 7_919 + turn * 104_729) % 10_000).to_string();
        let policy = &policies[turn % policies.len()];
        let check = Check::take(Key::new(&name).unwrap(), policy, Cost::ONE);
        let ended = match turn % 7 {
            0 => store.take(&[Check::debit(check.key, policy, Cost::from_units(2))]).await.err(),
            1 => {
                let now = store.take(&[check]).await.map(|verdict| verdict.at());
                match now {
                    Ok(now) => store.refund(&[check], now).await.err(),
                    Err(error) => Some(error),
                }
            }
            _ => store.take_each(&[check; 3]).await.err(),
        };
        if let Some(error) = ended {
            assert!(is_an_outage(&error), "{error}");
            return;
        }
    }
}

/// P55 (a): whatever is cut off in the middle, no key is left that never goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_upheaval_leaves_a_key_for_ever() {
    let server = RedisServer::start(&[]);
    for round in 0..50 {
        let store = RedisStore::new(config(&server));
        let load: Vec<_> = (0..8)
            .map(|task| tokio::spawn(use_until_failure(store.clone(), round * 8 + task)))
            .collect();
        sleep(Duration::from_millis(20 + u64::try_from(round).unwrap() % 7)).await;
        match round % 3 {
            0 => {
                server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
                drop(store);
            }
            1 => load.iter().for_each(tokio::task::JoinHandle::abort),
            _ => {
                server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
                load.iter().for_each(tokio::task::JoinHandle::abort);
            }
        }
        for task in load {
            // An aborted task has no result; one that met what it should not panicked.
            if let Err(error) = task.await {
                assert!(error.is_cancelled(), "{error}");
            }
        }
    }
    let endless = "local endless, all = 0, redis.call('KEYS', '*') \
                   for _, key in ipairs(all) do \
                   if redis.call('PTTL', key) < 0 then endless = endless + 1 end end \
                   return {endless, #all}";
    let counts = server.command(&["EVAL", endless, "0"]);
    let counts: Vec<usize> = counts.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(counts[0], 0, "keys without an expiry");
    assert!(counts[1] > 1_000, "only {} keys were written", counts[1]);
}

/// P05 (b): a server that is restarted, empty of scripts, under load: nobody is told of a missing
/// script, and calls succeed again soon after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_under_load_shows_no_missing_script() {
    let mut server = RedisServer::start(&[]);
    let store = RedisStore::new(at_port(server.port(), Span::from_millis(500)));
    let (ended, passed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (store, ended, passed) = (store.clone(), ended.clone(), passed.clone());
            tokio::spawn(async move {
                let policy = bucket("1000000/day");
                let mut errors = Vec::new();
                while !ended.load(Ordering::Relaxed) {
                    let check = Check::take(Key::new("k").unwrap(), &policy, Cost::ONE);
                    match store.take(&[check]).await {
                        Ok(_) => passed.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            errors.push(error);
                            0
                        }
                    };
                    sleep(Duration::from_millis(5)).await;
                }
                errors
            })
        })
        .collect();
    for _ in 0..3 {
        sleep(Duration::from_millis(300)).await;
        server.restart();
        let before = passed.load(Ordering::Relaxed);
        sleep(Duration::from_secs(2)).await;
        let since = passed.load(Ordering::Relaxed) - before;
        // Four tasks at 200 a second at most, for more than a second after the return.
        assert!(since > 200, "{since} calls in the two seconds after a restart");
    }
    ended.store(true, Ordering::Relaxed);
    for task in load {
        for error in task.await.unwrap() {
            let text = error.to_string();
            assert!(is_an_outage(&error) && !text.contains("SCRIPT"), "{text}");
        }
    }
}
