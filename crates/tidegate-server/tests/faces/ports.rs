//! Connections: what a slow, greedy or strange one gets.

use std::net::SocketAddr;
use std::time::Duration;

use tidegate::MemoryStore;
use tidegate_server::backend::Backend;
use tokio::time::{Instant, timeout};

use crate::harness::{Http, bucket, settings, start, start_over, start_with};
use crate::shutdown::Slow;

/// Sends these bytes one at a time, slowly, and says how long the connection lasted.
async fn trickle(at: SocketAddr, bytes: &[u8]) -> Duration {
    let mut http = Http::connect(at).await;
    let started = Instant::now();
    let mut bytes = bytes.iter();
    while started.elapsed() < Duration::from_secs(10) {
        if let Some(byte) = bytes.next() {
            http.write(&[*byte]).await;
        }
        if let Ok(end) = timeout(Duration::from_millis(300), http.read(true)).await {
            assert!(end.is_none_or(|reply| reply.status == 408), "it was cut off");
            break;
        }
    }
    started.elapsed()
}

/// P71: a head that trickles, or does not come at all, is not waited for.
#[tokio::test]
async fn a_head_that_trickles_is_cut_off() {
    let server = start([bucket("default", "1/hour")]).await;
    let (http, grpc) = (server.at.http, server.at.grpc);
    let lasted = tokio::join!(
        trickle(http, b""),
        trickle(http, b"POST /limit HTTP/1.1\r\nX-Client-Key"),
        trickle(http, b"GET /health HTTP/1.1\r\nX-Client-Key"),
        trickle(grpc, b"PRI * HTTP/2.0\r\n\r\nSM"),
    );
    for lasted in [lasted.0, lasted.1, lasted.2, lasted.3] {
        // Between five and six seconds, and time for a busy machine to notice.
        let seconds = lasted.as_secs_f64();
        assert!((4.9..7.0).contains(&seconds), "{seconds} s");
    }
    assert_eq!(server.get("/health").await.status, 200);
}

/// P71: nor is one on HTTP/2, be it in pieces or none at all.
#[tokio::test]
async fn a_first_request_on_http2_is_waited_for_no_longer() {
    let server = start([bucket("default", "1/hour")]).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    let heads: [&[u8]; 3] = [
        b"",
        b"\x00\x01\x00\x01\x00\x00\x00\x00\x01\x82",
        b"\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82",
    ];
    for at in [server.at.http, server.at.grpc] {
        let closed = heads.map(async |head| {
            let mut http = Http::connect(at).await;
            http.write(preface).await;
            http.write(head).await;
            http.ended().await;
        });
        let all = futures_util::future::join_all(closed);
        timeout(Duration::from_secs(8), all).await.expect("an end in time");
    }
}

/// P71: a head that is too large is refused.
#[tokio::test]
async fn a_head_that_is_too_large_is_a_431() {
    let server = start([bucket("default", "1/hour")]).await;
    for length in [20_000, 64 * 1024, 1024 * 1024] {
        // P51: a key of any size is refused cleanly.
        let long = "x".repeat(length);
        assert_eq!(server.limit(&[("X-Client-Key", &long)]).await.status, 431, "{length}");
    }
    let many: Vec<(&str, &str)> = vec![("X-Other", "x"); 200];
    assert_eq!(server.limit(&many).await.status, 431);
}

#[tokio::test]
async fn a_huge_body_is_refused_with_an_answer_that_arrives() {
    let server = start([bucket("default", "1/hour")]).await;
    let huge = vec![b'x'; 4 * 1024 * 1024];
    for path in ["/limit", "/v1/check"] {
        let headers = [("X-Client-Key", "a")];
        let reply = server.http().await.send("POST", path, &headers, &huge).await;
        assert_eq!(reply.status, 413, "{path}");
    }
}

/// A client may close its side once its request is whole, as `nc -N` does.
#[tokio::test]
async fn a_client_that_closes_its_side_gets_its_answer() {
    let store = Slow(MemoryStore::new(), Duration::from_millis(20));
    let settings = settings([bucket("default", "100/hour")]);
    let server = start_over(&settings, Backend::other(store)).await;
    let limit = "POST /limit HTTP/1.1\r\nHost: t\r\nX-Client-Key: a\r\n\r\n";
    let check = "POST /v1/check HTTP/1.1\r\nHost: t\r\nContent-Length: 11\r\n\r\n{\"key\":\"b\"}";
    for request in [limit, check] {
        let mut http = server.http().await;
        http.write(request.as_bytes()).await;
        http.finish().await;
        let reply = timeout(Duration::from_secs(2), http.read(true)).await.expect("in time");
        assert_eq!(reply.expect("an answer").status, 200, "{request}");
        let end = timeout(Duration::from_secs(2), http.read(true)).await.expect("in time");
        assert!(end.is_none(), "it is closed after the answer");
    }
}

/// A second request that is not yet whole does not hold back the answer to the first.
#[tokio::test]
async fn an_answer_does_not_wait_for_the_next_request() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut http = server.http().await;
    http.write(b"GET /health HTTP/1.1\r\nHost: t\r\n\r\nGET /hea").await;
    let first = timeout(Duration::from_secs(2), http.read(true)).await.expect("in time");
    assert_eq!(first.expect("an answer").status, 200);
}

#[tokio::test]
async fn a_request_that_is_none_is_a_400_and_harms_nobody() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut http = server.http().await;
    http.write(b"\x00\x01nonsense\r\n\r\n").await;
    assert_eq!(http.read(true).await.expect("an answer").status, 400);
    assert_eq!(server.get("/health").await.status, 200);
}

/// Two hosts in one request are how requests are smuggled past a proxy.
#[tokio::test]
async fn a_second_host_line_is_a_400() {
    let server = start([bucket("default", "1/hour")]).await;
    let headers = [("X-Client-Key", "a"), ("Host", "other")];
    assert_eq!(server.limit(&headers).await.status, 400);
    assert_eq!(server.limit(&headers[..1]).await.status, 200);
}

#[tokio::test]
async fn the_usual_address_takes_ipv4() {
    let mut settings = settings([bucket("default", "1/hour")]);
    settings.http.host = "::".into();
    let server = start_with(&settings).await;
    let at = (std::net::Ipv4Addr::LOCALHOST, server.at.http.port());
    let reply = Http::connect(at.into()).await.send("GET", "/health", &[], b"").await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_by_its_key() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut settings = settings([bucket("default", "1/hour")]);
    settings.grpc.port = server.at.grpc.port();
    let backend = Backend::of(&settings.store);
    let error = tidegate_server::serve::Server::open(&settings, backend).err().expect("taken");
    let text = error.to_string();
    assert!(text.contains("gRPC") && text.contains("listen.grpc"), "{text}");
}
