//! A gRPC server with limits: ten calls a minute for each address, and in streams a hundred messages a
//! minute. It listens on `PORT`, or 50051.
//!
//! ```sh
//! cargo run -p tidegate-tower --example tonic
//! grpcurl -plaintext localhost:50051 grpc.health.v1.Health/Check
//! ```

mod echo;

use std::error::Error;
use std::net::SocketAddr;

use tidegate::{Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::{MessageLimitLayer, PeerIp, RateLimitLayer};
use tonic::transport::Server;

use crate::echo::Echo;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::var("PORT").map_or(Ok(50051), |port| port.parse())?;
    let store = MemoryStore::new();
    let calls = Policy::new("calls", [Limit::quota("calls", "10/minute")?])?;
    let messages = Policy::new("messages", [Limit::quota("messages", "100/minute")?])?;
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<Echo>().await;
    println!("listening on http://127.0.0.1:{port}");
    Server::builder()
        .layer(RateLimitLayer::new(Limiter::new(store.clone(), calls)))
        .layer(MessageLimitLayer::new(Limiter::new(store, messages), PeerIp::default()))
        .add_service(health)
        .add_service(Echo)
        .serve(SocketAddr::from(([127, 0, 0, 1], port)))
        .await?;
    Ok(())
}
