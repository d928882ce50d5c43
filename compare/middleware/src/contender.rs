//! The layers, each with a limit that nobody reaches, by the peer's address.

use std::convert::Infallible;
use std::future::Ready;
use std::num::NonZeroU32;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use tidegate::{HeaderDialect, Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::RateLimitLayer;
use tower::{Layer, Service};
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;

use crate::{Cost, measure};

/// A service to measure.
pub struct Contender {
    pub name: &'static str,
    /// Whether its answers speak of the limit.
    pub headers: &'static str,
    /// Takes so many requests of so many peers.
    pub measure: Box<dyn FnMut(u32, usize) -> Cost>,
}

impl Contender {
    fn new<S, B>(name: &'static str, headers: &'static str, mut service: S) -> Contender
    where
        S: Service<Request<Body>, Response = Response<B>, Error: std::fmt::Debug> + 'static,
    {
        Contender {
            name,
            headers,
            measure: Box::new(move |peers, requests| measure(&mut service, peers, requests)),
        }
    }
}

/// Answers at once, with two headers, as most answers have some.
#[derive(Clone)]
struct Bare;

impl Service<Request<Body>> for Bare {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        std::future::ready(Ok(response))
    }
}

/// A limit that nobody reaches, and under which nobody is back to full soon.
const PER_HOUR: u32 = 10;
const BURST: u32 = 10_000_000;

fn limiter() -> Limiter<MemoryStore> {
    let limit =
        Limit::quota("default", &format!("{PER_HOUR}/hour burst {BURST}")).expect("a quota");
    Limiter::new(
        MemoryStore::new(),
        Policy::new("api", [limit]).expect("a policy"),
    )
}

/// The bare service first, then every layer around it.
pub fn all() -> Vec<Contender> {
    let [per_hour, burst] = [PER_HOUR, BURST].map(|n| NonZeroU32::new(n).expect("not zero"));
    let ours = |dialect| RateLimitLayer::new(limiter()).headers(dialect).layer(Bare);
    let mut builder = GovernorConfigBuilder::default();
    builder
        .per_nanosecond(3_600_000_000_000 / u64::from(PER_HOUR))
        .burst_size(BURST);
    let plain = GovernorLayer::<_, _, Body>::new(builder.finish().expect("a configuration"));
    let speaking = builder.use_headers().finish().expect("a configuration");
    let speaking = GovernorLayer::<_, _, Body>::new(speaking);
    let axum_governor = axum_governor::GovernorConfigBuilder::default()
        .with_extractor(axum_governor::PeerIp::default())
        .expect_connect_info()
        .quota_default(axum_governor::Quota::requests_per_hour(per_hour).burst(burst))
        .finish()
        .expect("a configuration");
    let axum_governor = axum_governor::GovernorLayer::new(axum_governor);
    vec![
        Contender::new("none", "none", Bare),
        Contender::new("tidegate-tower", "none", ours(HeaderDialect::Off)),
        Contender::new("tower_governor 0.8", "none", plain.layer(Bare)),
        Contender::new("tidegate-tower", "draft 11", ours(HeaderDialect::Draft11)),
        Contender::new(
            "tidegate-tower",
            "draft 11 and legacy",
            ours(HeaderDialect::Both),
        ),
        Contender::new("tower_governor 0.8", "legacy", speaking.layer(Bare)),
        Contender::new(
            "axum-governor 2.1",
            "draft and legacy",
            axum_governor.layer(Bare),
        ),
    ]
}
