//! `grpc.health.v1`: the service's readiness, for those who ask or watch.

use std::sync::Arc;

use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

use crate::service::{Ready, Service};
use crate::shutdown::Shutdown;

/// The names under which health is asked: the whole server, and the limiter.
const NAMES: [&str; 2] = ["", "ratelimiter.v1.RateLimiter"];

/// What the health service says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health(HealthReporter);

impl Health {
    /// The service that says it.
    pub(super) fn server(&self) -> HealthServer<HealthService> {
        HealthServer::new(HealthService::from_health_reporter(self.0.clone()))
    }

    async fn set(&self, ready: Ready) {
        let status = match ready {
            Ready::Yes | Ready::Degraded => ServingStatus::Serving,
            Ready::No => ServingStatus::NotServing,
        };
        for name in NAMES {
            self.0.set_service_status(name, status).await;
        }
    }

    /// Ends every watch, so that none holds up the end of its connection.
    async fn end(mut self) {
        for name in NAMES {
            self.0.clear_service_status(name).await;
        }
    }
}

/// Keeps health equal to readiness until the word to stop.
pub(crate) async fn follow(health: Health, service: Arc<Service>, mut shutdown: Shutdown) {
    let mut ready = service.readiness().now();
    loop {
        health.set(ready).await;
        tokio::select! {
            changed = service.readiness().changed_from(ready) => ready = changed,
            () = shutdown.wait() => break,
        }
    }
    health.set(Ready::No).await;
    health.end().await;
}
