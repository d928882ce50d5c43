//! A web server that shares its limits with every other that uses the same Redis: start it twice. It
//! listens on `PORT`, or 3000, and finds Redis on `REDIS_PORT`, or 6379.
//!
//! ```sh
//! cargo run -p tidegate-tower --example redis &
//! PORT=3001 cargo run -p tidegate-tower --example redis &
//! curl -i localhost:3000/; curl -i localhost:3001/   # ten a minute for each address, by both together
//! ```

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tidegate::{Limit, Limiter, Policy};
use tidegate_redis::{Address, RedisConfig, RedisStore};
use tidegate_tower::{OnStoreError, PeerIp, RateLimitLayer};
use tokio::net::TcpListener;

fn port(variable: &str, default: u16) -> Result<u16, std::num::ParseIntError> {
    std::env::var(variable).map_or(Ok(default), |port| port.parse())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: port("REDIS_PORT", 6379)? };
    let store = RedisStore::new(RedisConfig { address, ..RedisConfig::default() });
    let policy = Policy::new("peer", [Limit::quota("peer", "10/minute")?])?;
    let layer = RateLimitLayer::new(Limiter::new(store, policy))
        .key(PeerIp::default())
        // While Redis is away requests pass, marked with X-RateLimit-Degraded.
        .on_store_error(OnStoreError::Allow);
    let app = Router::new().route("/", get(|| async { "hello\n" })).layer(layer);
    let listener = TcpListener::bind(("127.0.0.1", port("PORT", 3000)?)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
