//! The first lines of the log: what the service runs by, and how to try it.

use super::Server;
use crate::explain;
use crate::settings::{Note, Settings};

/// Says where the configuration came from, and what it means.
pub(super) fn settings(settings: &Settings) {
    tracing::info!("configuration: {}", settings.source);
    for note in &settings.notes {
        match note {
            Note::Info(text) => tracing::info!("{text}"),
            Note::Warn(text) => tracing::warn!("{text}"),
        }
    }
    let mut policies: Vec<_> = settings.policies.iter().collect();
    policies.sort_by(|a, b| a.name().cmp(b.name()));
    for policy in policies {
        for limit in policy.limits() {
            let (policy, name) = (policy.name(), limit.name());
            tracing::info!("policy {policy}, limit {name}: {}", explain::limit(limit));
        }
    }
}

/// Says where the service listens, and how to try it.
pub(super) fn ports(server: &Server) {
    let Ok(at) = server.addresses() else {
        return;
    };
    let (http, grpc) = (at.http, at.grpc);
    match at.metrics {
        Some(metrics) => {
            tracing::info!("listening: REST on {http}, gRPC on {grpc}, metrics on {metrics}");
        }
        None => tracing::info!("listening: REST on {http}, gRPC on {grpc}, no metrics"),
    }
    let port = http.port();
    tracing::info!("try: curl -i -X POST -H 'X-Client-Key: alice' http://localhost:{port}/limit");
}
