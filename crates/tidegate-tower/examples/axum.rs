//! A web server with limits: by peer, by user, by route. It listens on `PORT`, or 3000.
//!
//! ```sh
//! cargo run -p tidegate-tower --example axum
//! curl -i localhost:3000/                      # ten a minute for each address
//! curl -i -H 'x-user: ann' localhost:3000/me   # five a minute for each user
//! curl -i localhost:3000/export/2026           # three a minute for each address on each route
//! ```

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use http::HeaderName;
use tidegate::{Limit, Limiter, MemoryStore, Policy, PolicyError};
use tidegate_tower::{Header, MatchedRoute, PeerIp, RateLimitLayer};
use tokio::net::TcpListener;

/// All limits lie in one store, kept apart by their policies' names.
fn app() -> Result<Router, PolicyError> {
    let store = MemoryStore::new();
    let limit = |name: &str, quota: &str| {
        let policy = Policy::new(name, [Limit::quota(name, quota)?])?;
        Ok::<_, PolicyError>(RateLimitLayer::new(Limiter::new(store.clone(), policy)))
    };
    let by_peer = limit("peer", "10/minute")?.key(PeerIp::default());
    // Something in front of this has verified who the user is.
    let by_user = limit("user", "5/minute")?.key(Header::new(HeaderName::from_static("x-user")));
    let by_route = limit("route", "3/minute")?.key((MatchedRoute, PeerIp::default()));
    let heavy = Router::new()
        .route("/search", get(|| async { "found\n" }))
        .route("/export/{year}", get(|| async { "exported\n" }))
        .route_layer(by_route);
    Ok(Router::new()
        .route("/", get(|| async { "hello\n" }).layer(by_peer))
        .route("/me", get(|| async { "you\n" }).layer(by_user))
        .merge(heavy))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::var("PORT").map_or(Ok(3000), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // Without the connect info the peer's address would not be known.
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app).await?;
    Ok(())
}
