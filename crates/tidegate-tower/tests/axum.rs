//! In axum: through its router, and over a real socket.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::routing::get;
use tidegate::{Limit, Limiter, MemoryStore, Policy};
use tidegate_tower::{PeerIp, RateLimitLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serves a router on a port of its own.
async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a connection");
    let address = listener.local_addr().expect("a connection");
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// The whole answer to one request on a connection of its own.
async fn get_whole(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a connection");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("a connection");
    answer
}

#[tokio::test]
async fn over_a_socket_a_peer_gets_its_limit_and_then_429() {
    let policy = Policy::new("api", [Limit::quota("burst", "3/hour").unwrap()]).unwrap();
    let layer =
        RateLimitLayer::new(Limiter::new(MemoryStore::new(), policy)).key(PeerIp::default());
    let app = Router::new().route("/", get(|| async { "hello" })).layer(layer);
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
    assert!(answer.ends_with("\r\n\r\nrate limit exceeded\n"), "{answer}");
}
