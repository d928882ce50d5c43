//! The example `client` against a server of the same limit, over a socket.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

use axum::Router;
use axum::routing::get;
use http::StatusCode;
use tidegate::{Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::{RateLimitLayer, RequestHead};
use tokio::net::TcpListener;
use tokio::time::{Duration, Instant};

#[allow(dead_code, reason = "its main is for people")]
#[path = "../examples/client.rs"]
mod client;

/// A server that refuses what is above `limit`, and its URL.
async fn serve(limit: &str) -> http::Uri {
    let policy = Policy::new("api", [Limit::quota("burst", limit).unwrap()]).unwrap();
    let limiter = Limiter::new(MemoryStore::new(), policy);
    let layer = RateLimitLayer::new(limiter).key(|_: &RequestHead<'_>| "all");
    let app = Router::new().route("/", get(|| async { "hello" })).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    uri
}

#[tokio::test]
async fn a_client_that_paces_itself_is_never_refused() {
    // The server has room for what a network may push together.
    let uri = serve("10 per second burst 8").await;
    let start = Instant::now();
    let statuses = client::call(uri, 15).await.unwrap();
    assert_eq!(statuses, [StatusCode::OK; 15]);
    assert!(start.elapsed() >= Duration::from_millis(990), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_client_that_was_refused_stays_away_as_it_was_told() {
    let uri = serve("1 per second burst 5").await;
    let start = Instant::now();
    // Five pass, the sixth to come is refused and told to wait for a second: so the next is let in.
    let statuses = client::call(uri, 7).await.unwrap();
    let refused =
        statuses.iter().filter(|status| **status == StatusCode::TOO_MANY_REQUESTS).count();
    assert_eq!(refused, 1, "{statuses:?}");
    assert!(start.elapsed() >= Duration::from_millis(990), "{:?}", start.elapsed());
}
