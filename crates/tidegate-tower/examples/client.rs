//! A client that keeps to the limits of the service it calls: it waits before a call in place of being
//! refused, and when it is refused all the same, stays away for as long as it was told.
//!
//! `cargo run -p tidegate-tower --example client -- http://127.0.0.1:8080/health 20` makes 20 calls,
//! ten a second and five at once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::PaceLayer;
use tower::{ServiceBuilder, ServiceExt};

/// An error of any kind.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Makes `count` calls at once, which go out as the limit allows, and gives how each was answered.
pub(crate) async fn call(uri: Uri, count: usize) -> Result<Vec<StatusCode>, Failure> {
    let policy = Policy::new("partner", [Limit::quota("calls", "10 per second burst 5")?])?;
    let pace = PaceLayer::new(Limiter::new(MemoryStore::new(), policy))
        // Every host has limits of its own.
        .key(|request: &Request<Empty<Bytes>>| request.uri().host().map(str::to_owned))
        .patience(Duration::from_secs(60))
        .obey_retry_after();
    let client = ServiceBuilder::new()
        .layer(pace)
        .service(Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>());

    let calls = (0..count).map(|_| {
        let (client, request) = (client.clone(), Request::get(uri.clone()).body(Empty::new()));
        tokio::spawn(async move { Ok::<_, Failure>(client.oneshot(request?).await?.status()) })
    });
    let mut statuses = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        statuses.push(call.await??);
    }
    Ok(statuses)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let uri = args.next().ok_or("which URL is to be called?")?.parse()?;
    let count = args.next().as_deref().unwrap_or("20").parse()?;
    #[allow(clippy::disallowed_methods, reason = "it measures, and decides nothing")]
    let start = Instant::now();
    let statuses = call(uri, count).await?;
    println!("{statuses:?} within {:?}", start.elapsed());
    Ok(())
}
