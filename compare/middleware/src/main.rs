//! The question: what does a rate limit add to a request that it allows? Each layer is put around the
//! same service, which answers at once, and called in this process, by the peer's address; printed is
//! what a request takes beyond one to the bare service, in nanoseconds of processor time and in
//! allocations.
//!
//! `cargo run --release -p middleware [RUNS] [PEERS] [ONLY]`

mod allocator;
mod contender;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use tower::Service;

use contender::Contender;

/// How many requests are timed together.
const REQUESTS: usize = 200_000;

/// What one contender took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    nanos: f64,
    allocations: f64,
}

/// Calls a service for each of many requests, made beforehand, which come from `peers` peers in turn, and
/// drops its answers.
pub fn measure<S, B>(service: &mut S, peers: u32, requests: usize) -> Cost
where
    S: Service<Request<Body>, Response = Response<B>, Error: std::fmt::Debug>,
{
    const BATCH: usize = 1_000;
    let mut context = Context::from_waker(Waker::noop());
    let (mut time, mut allocations) = (Duration::ZERO, 0);
    let mut batch = Vec::with_capacity(BATCH);
    for start in (0..requests).step_by(BATCH) {
        batch.extend((start..start + BATCH).map(|number| request(number, peers)));
        let (before, counted) = (thread_time(), allocator::count());
        for request in batch.drain(..) {
            assert!(
                is_served(service, request, &mut context),
                "nothing is denied"
            );
        }
        time += thread_time() - before;
        allocations += allocator::count() - counted;
    }
    Cost {
        nanos: time.as_nanos() as f64 / requests as f64,
        allocations: allocations as f64 / requests as f64,
    }
}

/// Whether a service answers a request, at once, with success.
///
/// Called and not inlined, as a server calls it: how often the parts of a request are moved about would
/// otherwise depend on what the compiler makes of this program, and not of the layer.
#[inline(never)]
fn is_served<S, B>(service: &mut S, request: Request<Body>, context: &mut Context<'_>) -> bool
where
    S: Service<Request<Body>, Response = Response<B>, Error: std::fmt::Debug>,
{
    assert!(service.poll_ready(context).is_ready());
    let answer = std::pin::pin!(service.call(request)).poll(context);
    matches!(answer, Poll::Ready(Ok(response)) if response.status().is_success())
}

/// A request from one of the peers, as axum's server hands it on.
#[inline(never)]
fn request(number: usize, peers: u32) -> Request<Body> {
    let host = Ipv4Addr::from_bits(0x0a00_0000 + number as u32 % peers);
    let peer = ConnectInfo(SocketAddr::new(IpAddr::V4(host), 4711));
    Request::builder()
        .uri("/")
        .extension(peer)
        .body(Body::empty())
        .expect("a request")
}

/// Processor time that this thread has used.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, which the call fills.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|number| number.parse().expect("a number"));
    let runs: usize = arguments.next().unwrap_or(9);
    let peers = arguments.next().unwrap_or(1_000).max(1) as u32;
    // Only the one of this number, besides the bare service: for a profiler.
    let only: Option<usize> = arguments.next();
    // One of the peers starts a task.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let _entered = runtime.enter();
    let mut contenders = contender::all();
    if let Some(place) = only {
        contenders = vec![contenders.remove(0), contenders.remove(place - 1)];
    }
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); contenders.len()];
    let requests = REQUESTS.max(peers as usize);
    // Every peer is known before anything is measured; within a round all take turns.
    for contender in &mut contenders {
        (contender.measure)(peers, requests);
    }
    for _ in 0..runs {
        for (contender, costs) in contenders.iter_mut().zip(&mut costs) {
            costs.push((contender.measure)(peers, requests));
        }
    }
    print(&contenders, &costs);
}

/// The table. The first contender is the bare service, which the others are measured against, run by
/// run.
fn print(contenders: &[Contender], costs: &[Vec<Cost>]) {
    println!("| layer | headers | ns per request | allocations per request |");
    println!("|---|---|---|---|");
    let bare = &costs[0];
    for (contender, costs) in contenders.iter().zip(costs).skip(1) {
        let over = |field: fn(&Cost) -> f64| {
            let pairs = costs.iter().zip(bare);
            median(
                pairs
                    .map(|(cost, bare)| field(cost) - field(bare))
                    .collect(),
            )
        };
        let (nanos, allocations) = (over(|cost| cost.nanos), over(|cost| cost.allocations));
        let (name, headers) = (contender.name, contender.headers);
        println!("| {name} | {headers} | {nanos:.0} | {allocations:.2} |");
    }
    let nanos = median(bare.iter().map(|cost| cost.nanos).collect());
    println!("\nThe bare service takes {nanos:.0} ns.");
}
