//! Every processor of the machine works for every protocol.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tidegate_server::proto::v1::AllowRequest;
use tidegate_server::proto::v1::rate_limiter_client::RateLimiterClient;
use tonic::transport::Endpoint;

use crate::client::Client;
use crate::counts::memory;
use crate::process::Service;

const ROOMY: &str = "policies:\n  default:\n    limits:\n      - { name: roomy, algorithm: token_bucket, capacity: 1000000000, rate: 1000/s }\n";
const CONNECTIONS: usize = 8;
/// In hundredths of a second of the process's time: enough to tell threads apart.
const ENOUGH: u64 = 150;
/// How many times at most to look whether it was enough: for a minute.
const LONGEST: usize = 3_000;

/// The processor time of each thread of a process, in hundredths of a second, the busiest first.
fn busy(process: u32) -> Vec<u64> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("the process's threads");
    let time = |task: std::io::Result<fs::DirEntry>| {
        let stat = fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        // The name before it may hold anything.
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    let mut times: Vec<u64> = tasks.filter_map(time).collect();
    times.sort_unstable_by_key(|time| std::cmp::Reverse(*time));
    times
}

/// Asks on eight connections until the service has worked for long enough; every answer is counted.
fn saturate(service: &Service, ask_on: impl Fn(&dyn Fn() -> bool) -> usize + Sync) {
    let (ended, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                answered.fetch_add(ask_on(&|| !ended.load(Ordering::Relaxed)), Ordering::Relaxed)
            });
        }
        for _ in 0..LONGEST {
            if busy(service.id()).iter().sum::<u64>() >= ENOUGH {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(answered.into_inner() > 1_000);
    let busy = busy(service.id());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let [first, second, ..] = busy[..] else { panic!("one thread: {busy:?}") };
    assert!(busy.iter().sum::<u64>() >= ENOUGH, "it did not work for long enough: {busy:?}");
    assert!(cores == 1 || second * 3 >= first, "hundredths of a second by thread: {busy:?}");
}

/// P86: gRPC on eight connections keeps more than one thread busy.
#[test]
fn grpc_is_served_by_every_core() {
    let service = Service::start(&memory(ROOMY));
    let uri = format!("http://127.0.0.1:{}", service.grpc);
    saturate(&service, |goes_on| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let channel = Endpoint::from_shared(uri.clone()).expect("a uri").connect().await;
            let mut client = RateLimiterClient::new(channel.expect("a connection"));
            let mut answered = 0;
            while goes_on() {
                let request = AllowRequest { key: "k".into(), ..AllowRequest::default() };
                assert!(client.allow(request).await.expect("an answer").into_inner().allowed);
                answered += 1;
            }
            answered
        })
    });
}

/// P86: so does REST.
#[test]
fn rest_is_served_by_every_core() {
    let service = Service::start(&memory(ROOMY));
    saturate(&service, |goes_on| {
        let mut client = Client::connect(service.http);
        let mut answered = 0;
        while goes_on() {
            assert_eq!(client.limit("k").status, 200);
            answered += 1;
        }
        answered
    });
}
