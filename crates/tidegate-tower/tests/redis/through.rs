//! A service behind a layer over Redis.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tidegate::{Limit, Limiter, Policy, Span};
use tidegate_redis::{Address, RedisConfig, RedisStore, Secret};
use tidegate_tower::{Degraded, PeerAddr};
use tower::{Layer, Service, ServiceExt};

/// The longest that a call of the store may take.
pub(crate) const TIMEOUT: Span = Span::from_millis(100);

pub(crate) fn limiter(port: u16, password: Option<&str>, quota: &str) -> Limiter<RedisStore> {
    let store = RedisStore::new(RedisConfig {
        address: Address::Tcp { host: "127.0.0.1".into(), port },
        password: password.map(Secret::new),
        timeout: TIMEOUT,
        ..RedisConfig::default()
    });
    Limiter::new(store, Policy::new("api", [Limit::quota("burst", quota).unwrap()]).unwrap())
}

/// What a request got.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) is_degraded: bool,
}

/// Sends a request from this address through a layer, to a service that says whether it was told that
/// the store is away.
pub(crate) async fn send<L, B>(layer: &L, peer: [u8; 4]) -> Answer
where
    L: Layer<Told>,
    L::Service: Service<Request<()>, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = Bytes, Error = Infallible>,
{
    let mut request = Request::new(());
    request.extensions_mut().insert(PeerAddr(SocketAddr::from((peer, 4711))));
    let response = layer.layer(Told).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let is_degraded = response.headers().contains_key("x-ratelimit-degraded");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Answer { status, body: String::from_utf8(body.to_vec()).unwrap(), is_degraded }
}

/// Says whether it was told that the store is away.
#[derive(Clone)]
pub(crate) struct Told;

impl Service<Request<()>> for Told {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let is_told = request.extensions().get::<Degraded>().is_some();
        let text = if is_told { "degraded" } else { "as usual" };
        std::future::ready(Ok(Response::new(Full::from(text))))
    }
}
