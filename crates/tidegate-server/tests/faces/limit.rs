//! `POST /limit`.

use std::sync::Arc;

use tidegate::{Amount, Limit, Rate, Span};

use crate::harness::{Http, bucket, policy, start};

fn fixed(name: &str, max: u64, secs: u64) -> Limit {
    Limit::fixed_window(name, Amount::from_units(max), Span::from_secs(secs)).expect("a limit")
}

#[tokio::test]
async fn the_bucket_allows_its_burst_and_then_denies_with_a_wait() {
    let server = start([bucket("default", "1/10s burst 3")]).await;
    for _ in 0..3 {
        let reply = server.limit(&[("X-Client-Key", "alice")]).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, ""));
        assert_eq!(reply.header("retry-after"), None);
    }
    let denied = server.limit(&[("X-Client-Key", "alice")]).await;
    assert_eq!((denied.status, denied.body.as_str()), (429, "rate limit exceeded\n"));
    assert_eq!(denied.header("retry-after"), Some("10"));
    assert!(denied.header("content-type").expect("a type").starts_with("text/plain"));
    assert_eq!(server.limit(&[("X-Client-Key", "bob")]).await.status, 200);
}

/// P22: a wait is rounded up, and a client that obeys it passes.
#[tokio::test]
async fn an_obeying_client_is_never_denied_again() {
    let fifth = bucket("fifth", "5/s");
    let slow = bucket("slow", "2/3s burst 1");
    let server = start([fifth, slow]).await;
    let ask = async |policy| server.limit(&[("X-Client-Key", "a"), ("X-Policy", policy)]).await;
    for _ in 0..5 {
        assert_eq!(ask("fifth").await.status, 200);
    }
    assert_eq!(ask("fifth").await.header("retry-after"), Some("1"));
    assert_eq!(ask("slow").await.status, 200);
    server.clock.advance(Span::from_millis(100));
    assert_eq!(ask("slow").await.header("retry-after"), Some("2"));
    server.clock.advance(Span::from_secs(1));
    assert_eq!(ask("slow").await.status, 429);
    server.clock.advance(Span::from_secs(1));
    assert_eq!(ask("slow").await.status, 200);
}

/// P23: the wait is what is left of the window, in seconds, wherever it is told.
#[tokio::test]
async fn the_wait_is_what_is_left_of_the_window() {
    let mut settings = crate::harness::settings([policy("default", [fixed("minute", 5, 60)])]);
    settings.ratelimit_headers = tidegate_server::settings::HeaderDialect::Both;
    let server = crate::harness::start_with(&settings).await;
    for _ in 0..5 {
        assert_eq!(server.limit(&[("X-Client-Key", "a")]).await.status, 200);
    }
    server.clock.advance(Span::from_secs(50));
    let denied = server.limit(&[("X-Client-Key", "a")]).await;
    assert_eq!(denied.header("retry-after"), Some("10"));
    assert_eq!(denied.header("ratelimit"), Some("\"minute\";r=0;t=10"));
    assert_eq!(denied.header("x-ratelimit-reset"), Some("10"));
    assert_eq!(denied.header("x-ratelimit-limit"), Some("5"));
    assert_eq!(denied.header("x-ratelimit-remaining"), Some("0"));
    let json = server.check(r#"{"key":"a"}"#).await.json();
    assert_eq!(json["retry_after_ms"], 10_000);
    let request =
        tidegate_server::proto::v1::AllowRequest { key: "a".into(), ..Default::default() };
    let answer = server.grpc().await.allow(request).await.expect("an answer").into_inner();
    assert_eq!(answer.retry_after.expect("a wait").seconds, 10);
}

/// P24: a denial speaks of the limit that denied.
#[tokio::test]
async fn a_denial_carries_the_numbers_of_the_limit_that_denied() {
    let limits = [fixed("requests", 60, 60), fixed("budget", 1_000, 3_600)];
    let server = start([policy("default", limits)]).await;
    let ask =
        async |cost| server.limit(&[("X-Client-Key", "a"), ("X-Required-Tokens", cost)]).await;
    // A cost counts against both limits, so the budget is spent in pieces that the first lets by.
    for minute in 0..17 {
        let cost = if minute == 16 { "40" } else { "60" };
        assert_eq!(ask(cost).await.status, 200);
        server.clock.advance(Span::from_secs(60));
    }
    let denied = ask("1").await;
    assert_eq!(denied.status, 429);
    assert_eq!(denied.header("ratelimit"), Some("\"budget\";r=0;t=2580"));
    assert_eq!(denied.header("retry-after"), Some("2580"));
    let listed = "\"requests\";q=60;w=60, \"budget\";q=1000;w=3600";
    assert_eq!(denied.header("ratelimit-policy"), Some(listed));
}

/// P30: what can never pass is told apart, without a wait, and charges nothing.
#[tokio::test]
async fn a_cost_above_the_limit_is_denied_for_good() {
    let server = start([bucket("default", "3/2s")]).await;
    let ask =
        async |cost| server.limit(&[("X-Client-Key", "a"), ("X-Required-Tokens", cost)]).await;
    let never = ask("4").await;
    assert_eq!((never.status, never.body.as_str()), (429, "cost exceeds limit\n"));
    assert_eq!(never.header("retry-after"), None);
    assert_eq!(never.header("ratelimit"), Some("\"only\";r=3;t=2"));
    assert_eq!(ask("3").await.status, 200);
    assert_eq!(ask("3").await.header("retry-after"), Some("2"));
}

/// P32: a limit of nothing denies for good on every face, and divides nothing by zero.
#[tokio::test]
async fn a_limit_of_nothing_denies_for_good() {
    let second = Span::from_secs(1);
    for limit in [
        fixed("none", 0, 60),
        Limit::rolling_window("none", Amount::ZERO, Span::from_secs(60)).expect("a limit"),
        Limit::sliding_window("none", Amount::ZERO, Span::from_secs(60)).expect("a limit"),
        Limit::token_bucket("none", Amount::ZERO, Rate::per(Amount::ONE, second).expect("a rate"))
            .expect("a limit"),
    ] {
        let server = start([policy("default", [limit])]).await;
        let denied = server.limit(&[("X-Client-Key", "a")]).await;
        assert_eq!((denied.status, denied.body.as_str()), (429, "cost exceeds limit\n"));
        assert_eq!(denied.header("retry-after"), None);
        assert!(denied.header("ratelimit").expect("a state").starts_with("\"none\";r=0"));
        let request =
            tidegate_server::proto::v1::AllowRequest { key: "a".into(), ..Default::default() };
        let answer = server.grpc().await.allow(request).await.expect("an answer").into_inner();
        assert_eq!((answer.allowed, answer.retry_after), (false, None));
        assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["outcome"], "exceeds");
    }
}

/// P45: the same key under two policies, and two keys that only join alike, count apart.
#[tokio::test]
async fn policies_and_keys_never_share_a_count() {
    let server = start([bucket("a", "1/hour"), bucket("a.b", "1/hour")]).await;
    for expected in [200, 429] {
        for (key, policy) in [("x", "a"), ("x", "a.b"), ("b:x", "a"), ("b.x", "a")] {
            let reply = server.limit(&[("X-Client-Key", key), ("X-Policy", policy)]).await;
            assert_eq!(reply.status, expected, "{key} {policy}");
        }
    }
}

/// P51: long keys are told apart to the last byte, and longer ones are refused.
#[tokio::test]
async fn keys_count_to_their_last_byte() {
    let server = start([bucket("default", "1/hour")]).await;
    let stem = "k".repeat(1_023);
    for last in ["a", "b"] {
        let key = format!("{stem}{last}");
        assert_eq!(server.limit(&[("X-Client-Key", &key)]).await.status, 200);
    }
    let refused = server.limit(&[("X-Client-Key", &format!("{stem}ab"))]).await;
    let reason = "X-Client-Key: key is 1025 bytes long; it must be 1 to 1024 bytes\n";
    assert_eq!((refused.status, refused.body.as_str()), (400, reason));
}

/// P10: clients at once take exactly what there is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_clients_at_once_take_exactly_the_limit() {
    let server = Arc::new(start([bucket("default", "1000/hour")]).await);
    let client = async |server: Arc<crate::harness::Running>| {
        let mut http = server.http().await;
        let mut allowed = 0;
        for _ in 0..40 {
            let reply = http.send("POST", "/limit", &[("X-Client-Key", "hot")], b"").await;
            allowed += u32::from(reply.status == 200);
        }
        allowed
    };
    let clients: Vec<_> = (0..32).map(|_| tokio::spawn(client(Arc::clone(&server)))).collect();
    let mut allowed = 0;
    for client in clients {
        allowed += client.await.expect("a client");
    }
    assert_eq!(allowed, 1_000);
}

#[tokio::test]
async fn a_body_is_ignored_and_a_huge_one_refused_uncharged() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut http = server.http().await;
    let huge = vec![b'x'; 64 * 1024 + 1];
    let refused = http.send("POST", "/limit", &[("X-Client-Key", "a")], &huge).await;
    assert_eq!(refused.status, 413);
    let mut http = server.http().await;
    let full = vec![b'x'; 64 * 1024];
    assert_eq!(http.send("POST", "/limit", &[("X-Client-Key", "a")], &full).await.status, 200);
    // The connection goes on behind the body.
    assert_eq!(http.send("POST", "/limit", &[("X-Client-Key", "a")], b"").await.status, 429);
}

#[tokio::test]
async fn a_pipeline_is_answered_in_order() {
    let server = start([bucket("default", "2/hour")]).await;
    let mut http = server.http().await;
    let request = b"POST /limit HTTP/1.1\r\nHost: t\r\nX-Client-Key: a\r\n\r\n";
    http.write(&request.repeat(3)).await;
    for expected in [200, 200, 429] {
        assert_eq!(http.read(true).await.expect("an answer").status, expected);
    }
}

#[tokio::test]
async fn http2_with_prior_knowledge_is_answered_on_the_same_port() {
    let server = start([bucket("default", "1/hour")]).await;
    let stream = tokio::net::TcpStream::connect(server.at.http).await.expect("a connection");
    let io = hyper_util::rt::TokioIo::new(stream);
    let executor = hyper_util::rt::TokioExecutor::new();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(executor, io).await.expect("a handshake");
    tokio::spawn(connection);
    for expected in [200, 429] {
        let request = hyper::Request::post("http://test/limit")
            .header("X-Client-Key", "a")
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .expect("a request");
        let reply = sender.send_request(request).await.expect("an answer");
        assert_eq!(reply.status(), expected);
    }
}

#[tokio::test]
async fn health_and_readiness_answer_in_a_word() {
    let server = start([bucket("default", "1/hour")]).await;
    for (path, body) in [("/health", "ok\n"), ("/ready", "ready\n")] {
        let reply = server.get(path).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, body));
    }
    let port = server.at.metrics.expect("metrics are on");
    let reply = Http::connect(port).await.send("GET", "/health", &[], b"").await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "ok\n"));
}
