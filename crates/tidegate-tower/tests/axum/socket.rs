//! Over real sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tidegate::{Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::{PeerAddr, PeerIp, RateLimitLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn layer(quota: &str) -> RateLimitLayer<MemoryStore> {
    let policy = Policy::new("api", [Limit::quota("burst", quota).unwrap()]).unwrap();
    RateLimitLayer::new(Limiter::new(MemoryStore::new(), policy)).key(PeerIp::default())
}

/// Serves a router on a port of its own.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// The whole answer to one request on a connection of its own.
async fn get_whole(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_peer_gets_its_limit_and_then_429() {
    let app = Router::new().route("/", get(|| async { "hello" })).layer(layer("3/hour"));
    let address = serve(app).await;
    for _ in 0..3 {
        let answer = get_whole(address, "/").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nratelimit-policy: \"burst\";q=3;w=3600\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    }
    let answer = get_whole(address, "/").await;
    assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1200\r\n"), "{answer}");
    assert!(answer.contains("\r\ncontent-length: 20\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nrate limit exceeded\n"), "{answer}");
}

/// How long a client may take for its headers.
const HEADERS_WITHIN: Duration = Duration::from_millis(500);

/// Serves straight on hyper, with a timer, and the peer's address by a layer of one's own.
async fn serve_on_hyper(app: Router) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            let app = app.clone().layer(axum::Extension(PeerAddr(peer)));
            tokio::spawn(async move {
                let mut server = auto::Builder::new(TokioExecutor::new());
                server.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
                let service = TowerToHyperService::new(app);
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

/// P71, as far as a layer goes: a client that trickles its headers never reaches the limit, so it
/// spends nothing and holds nobody up; and with a timer, which hyper needs and `axum::serve` has not,
/// it is hung up on.
#[tokio::test]
async fn slow_clients_spend_nothing_and_hold_nobody_up() {
    let app = Router::new().route("/", get(|| async { "hello" })).layer(layer("3/hour"));
    let address = serve_on_hyper(app).await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ").await.unwrap();
        slow.push(stream);
    }
    for _ in 0..3 {
        let answer = tokio::time::timeout(HEADERS_WITHIN, get_whole(address, "/")).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    assert!(get_whole(address, "/").await.starts_with("HTTP/1.1 429 "), "none was spent by others");
    for mut stream in slow {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(HEADERS_WITHIN * 20, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "hung up on");
    }
}
