//! Waiting for one's turn over Redis, in real time.

use std::time::Duration;

use tidegate::{Amount, Check, Cost, Key, Limit, Limiter, Policy, Span, Store, TokioTimer};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;
use tokio::time::{Instant, timeout};

use crate::fixture::config;

/// Many wait on many threads, and some go away while their question is on its way or their turn has
/// not come: what is used in the end is what those took who passed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn those_who_wait_pass_at_the_rate_of_the_limit_and_those_who_left_took_nothing() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let rate = Limit::quota("rate", "100/s burst 5").unwrap();
    let all = Limit::fixed_window("all", Amount::from_units(1_000), Span::from_secs(86_400));
    let policy = Policy::new("paced", [rate, all.unwrap()]).unwrap();
    let pacer = Limiter::new(store.clone(), policy.clone()).pacer(TokioTimer::new());
    let start = Instant::now();
    let waiting: Vec<_> = (0..150_u64)
        .map(|number| {
            let pass = pacer.until_ready(Key::new("k").unwrap(), Cost::ONE);
            tokio::spawn(async move {
                match number % 3 {
                    0 => timeout(Duration::from_micros(number * 100), pass).await.is_ok(),
                    _ => pass.await.is_ok(),
                }
            })
        })
        .collect();
    let mut passed = 0;
    for (number, one) in waiting.into_iter().enumerate() {
        let has_passed = one.await.unwrap();
        assert!(has_passed || number % 3 == 0, "{number} waited to the end");
        passed += u64::from(has_passed);
    }
    let least = Duration::from_millis(10) * u32::try_from(passed - 5).unwrap();
    let took = start.elapsed();
    assert!(took + Duration::from_millis(2) >= least, "{passed} within {took:?}");
    assert_eq!(pacer.waiting(), 0);

    // What was taken for those who left comes back by itself.
    let day = Policy::new("paced", [policy.limits()[1].clone()]).unwrap();
    let peek = Check::peek(Key::new("k").unwrap(), &day, Cost::ZERO);
    let left = Amount::from_units(1_000 - passed);
    let mut remaining = Amount::ZERO;
    for _ in 0..200 {
        remaining = store.take(&[peek]).await.unwrap().decisions()[0].remaining;
        if remaining == left {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{remaining} are left where {left} should be");
}
