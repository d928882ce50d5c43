//! Whatever a client sends wrong is the client's mistake, told by its name, and mints nothing.

use tidegate_server::proto::v1::{AllowRequest, CheckRequest};
use tonic::Code;

use crate::harness::{Running, bucket, start};

const KEY: (&str, &str) = ("X-Client-Key", "a");

/// Headers, and what the refusal begins with.
const WRONG_HEADERS: &[(&[(&str, &str)], &str)] = &[
    (&[], "X-Client-Key: missing"),
    (&[("X-Client-Key", "")], "X-Client-Key: key is empty"),
    (&[KEY, ("X-Client-Key", "b")], "X-Client-Key: given twice"),
    (&[KEY, ("X-Policy", "nope")], "X-Policy: no policy is named \"nope\""),
    (&[KEY, ("X-Policy", "")], "X-Policy: no policy is named \"\""),
    (&[KEY, ("X-Policy", "a"), ("X-Policy", "a")], "X-Policy: given twice"),
    (&[KEY, ("X-Required-Tokens", "0")], "X-Required-Tokens: must be above 0"),
    (&[KEY, ("X-Required-Tokens", "-0.0")], "X-Required-Tokens: must be above 0"),
    (&[KEY, ("X-Required-Tokens", "-1")], "X-Required-Tokens: below zero"),
    (&[KEY, ("X-Required-Tokens", "-1000")], "X-Required-Tokens: below zero"),
    (&[KEY, ("X-Required-Tokens", "NaN")], "X-Required-Tokens: not a finite"),
    (&[KEY, ("X-Required-Tokens", "inf")], "X-Required-Tokens: not a finite"),
    (&[KEY, ("X-Required-Tokens", "1e400")], "X-Required-Tokens: above the largest"),
    (&[KEY, ("X-Required-Tokens", "18446744073709551616")], "X-Required-Tokens: above"),
    (&[KEY, ("X-Required-Tokens", "9223372036854775808")], "X-Required-Tokens: above"),
    (&[KEY, ("X-Required-Tokens", "0x10")], "X-Required-Tokens: not a decimal"),
    (&[KEY, ("X-Required-Tokens", "")], "X-Required-Tokens: not a decimal"),
    (&[KEY, ("X-Required-Tokens", "null")], "X-Required-Tokens: not a decimal"),
    (&[KEY, ("X-Required-Tokens", "1, 1")], "X-Required-Tokens: not a decimal"),
    (&[KEY, ("X-Required-Tokens", "\u{ff11}")], "X-Required-Tokens: not a decimal"),
    (&[KEY, ("X-Required-Tokens", "1"), ("X-Required-Tokens", "1")], "X-Required-Tokens: given"),
];

/// Bodies, the field that the refusal names, and a part of its detail.
const WRONG_BODIES: &[(&str, Option<&str>, &str)] = &[
    ("", None, "must be a JSON object"),
    ("[]", None, "must be a JSON object"),
    (r#"["a"]"#, None, "must be a JSON object"),
    ("{", None, "not JSON"),
    (r#"{"key":"a"} x"#, None, "not JSON"),
    ("{}", Some("key"), "missing"),
    (r#"{"key":null}"#, Some("key"), "must be a string"),
    (r#"{"key":5}"#, Some("key"), "must be a string"),
    (r#"{"key":""}"#, Some("key"), "empty"),
    (r#"{"key":"a","kost":1}"#, None, "unknown field `kost`"),
    (r#"{"key":"a","key":"b"}"#, None, "duplicate field `key`"),
    (r#"{"key":"a","cost":null}"#, Some("cost"), "must be a number"),
    (r#"{"key":"a","cost":true}"#, Some("cost"), "must be a number"),
    (r#"{"key":"a","cost":[1]}"#, Some("cost"), "must be a number"),
    (r#"{"key":"a","cost":-1}"#, Some("cost"), "below zero"),
    (r#"{"key":"a","cost":"-0.1"}"#, Some("cost"), "below zero"),
    (r#"{"key":"a","cost":NaN}"#, None, "not JSON"),
    (r#"{"key":"a","cost":"NaN"}"#, Some("cost"), "not a finite"),
    (r#"{"key":"a","cost":1e400}"#, Some("cost"), "above the largest"),
    (r#"{"key":"a","cost":18446744073709551616}"#, Some("cost"), "above the largest"),
    (r#"{"key":"a","cost":""}"#, Some("cost"), "not a decimal"),
    (r#"{"key":"a","policy":"nope"}"#, Some("policy"), "no policy is named"),
    (r#"{"key":"a","policy":null}"#, Some("policy"), "must be a string"),
    (r#"{"key":"a","debit":1}"#, Some("debit"), "must be true or false"),
    (r#"{"key":"a","mode":"all"}"#, Some("mode"), "only goes with checks"),
    (r#"{"checks":[]}"#, Some("checks"), "holds 0"),
    (r#"{"checks":{}}"#, Some("checks"), "must be an array"),
    (r#"{"checks":[{"key":"a"}],"key":"a"}"#, Some("key"), "does not go with checks"),
    (r#"{"checks":[{"key":"a"}],"mode":"any"}"#, Some("mode"), r#""all" or "each""#),
    (r#"{"checks":[{"key":"a"},{"key":7}]}"#, Some("checks[1].key"), "must be a string"),
    (r#"{"checks":[{"key":"a"},7]}"#, Some("checks[1]"), "must be a JSON object"),
    (r#"{"checks":[{"key":"a","cost":-1}]}"#, Some("checks[0].cost"), "below zero"),
    (r#"{"checks":[{"key":"a","policy":"x"}]}"#, Some("checks[0].policy"), "named \"x\""),
    (r#"{"checks":[{"key":"a","checks":[]}]}"#, Some("checks[0]"), "do not go into"),
];

/// The body is refused with problem details that name this field and reason.
async fn assert_problem(server: &Running, body: &str, field: Option<&str>, reason: &str) {
    let reply = server.check(body).await;
    assert_eq!(reply.status, 400, "{body}");
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    let json = reply.json();
    assert_eq!(json["field"].as_str(), field, "{body}: {json}");
    assert_eq!(json["status"], 400);
    let detail = json["detail"].as_str().expect("a detail");
    assert!(detail.contains(reason), "{body}: {detail}");
}

fn ask(key: &[u8], tokens: f64, policy: &str) -> AllowRequest {
    AllowRequest { key: key.to_vec().into(), tokens, policy: policy.into(), debit: false }
}

/// Messages, and the refusal's code and what it begins with.
fn wrong_messages() -> Vec<(AllowRequest, Code, &'static str)> {
    let long = vec![b'k'; 1_025];
    vec![
        (ask(b"", 1.0, ""), Code::InvalidArgument, "key: key is empty"),
        (ask(&long, 1.0, ""), Code::InvalidArgument, "key: key is 1025 bytes"),
        (ask(b"a", -1.0, ""), Code::InvalidArgument, "tokens: below zero"),
        (ask(b"a", -0.1, ""), Code::InvalidArgument, "tokens: below zero"),
        (ask(b"a", f64::NAN, ""), Code::InvalidArgument, "tokens: not a finite"),
        (ask(b"a", f64::INFINITY, ""), Code::InvalidArgument, "tokens: not a finite"),
        (ask(b"a", f64::NEG_INFINITY, ""), Code::InvalidArgument, "tokens: not a finite"),
        (ask(b"a", f64::MAX, ""), Code::InvalidArgument, "tokens: above the largest"),
        (ask(b"a", 18_446_744_073_709_551_616.0, ""), Code::InvalidArgument, "tokens: above"),
        (ask(b"a", 1.0, "nope"), Code::NotFound, "policy: no policy is named \"nope\""),
    ]
}

/// P31: no cost mints units, and none is the server's fault.
#[tokio::test]
async fn every_wrong_header_is_a_400_with_the_reason() {
    let server = start([bucket("default", "1/hour")]).await;
    assert_eq!(server.limit(&[("X-Client-Key", "a")]).await.status, 200);
    for (headers, reason) in WRONG_HEADERS {
        let reply = server.limit(headers).await;
        assert_eq!(reply.status, 400, "{headers:?}");
        assert!(reply.body.starts_with(reason), "{headers:?}: {}", reply.body);
        assert!(reply.body.ends_with('\n'));
    }
    assert_eq!(server.limit(&[KEY]).await.status, 429);
}

/// P31: the same in JSON; every refusal names the field.
#[tokio::test]
async fn every_wrong_field_is_a_400_that_names_it() {
    let server = start([bucket("default", "1/hour")]).await;
    assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["allowed"], true);
    for (body, field, reason) in WRONG_BODIES {
        assert_problem(&server, body, *field, reason).await;
    }
    let long = format!(r#"{{"key":"{}"}}"#, "k".repeat(1_025));
    assert_problem(&server, &long, Some("key"), "1025 bytes").await;
    let many = format!(r#"{{"checks":[{}]}}"#, vec![r#"{"key":"a"}"#; 1_001].join(","));
    assert_problem(&server, &many, Some("checks"), "holds 1001").await;
    assert_eq!(server.check(r#"{"key":"a"}"#).await.json()["allowed"], false);
}

#[tokio::test]
async fn json_that_is_too_large_or_no_text_is_refused() {
    let server = start([bucket("default", "1/hour")]).await;
    let huge = vec![b' '; 2 * 1024 * 1024 + 1];
    let reply = server.http().await.send("POST", "/v1/check", &[], &huge).await;
    assert_eq!(reply.status, 413);
    let reply = server.http().await.send("POST", "/v1/check", &[], b"{\"key\":\"\xff\"}").await;
    assert_eq!(
        (reply.status, reply.json()["detail"].as_str()),
        (400, Some("the body is not UTF-8"))
    );
}

/// P51: keys of any size beyond the bound are refused by name, and those beyond a body's with it.
#[tokio::test]
async fn long_keys_are_refused_however_many() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut http = server.http().await;
    for (length, status) in [(64 * 1024, 400), (1024 * 1024, 400), (3 * 1024 * 1024, 413)] {
        let body = format!(r#"{{"key":"{}"}}"#, "k".repeat(length));
        let reply = server.check(&body).await;
        assert_eq!(reply.status, status, "{length}");
    }
    let body = format!(r#"{{"key":"{}"}}"#, "k".repeat(8 * 1024));
    for _ in 0..2_000 {
        let reply = http.send("POST", "/v1/check", &[], body.as_bytes()).await;
        assert_eq!((reply.status, reply.json()["field"].as_str()), (400, Some("key")));
    }
    assert_eq!(server.limit(&[KEY]).await.status, 200, "the service goes on");
}

/// P31: the same in gRPC.
#[tokio::test]
async fn every_wrong_message_is_an_invalid_argument_that_names_the_field() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut grpc = server.grpc().await;
    assert!(grpc.allow(ask(b"a", 1.0, "")).await.expect("an answer").into_inner().allowed);
    for (request, code, reason) in wrong_messages() {
        let status = grpc.allow(request.clone()).await.expect_err("a mistake");
        assert_eq!(status.code(), code, "{request:?}");
        assert!(status.message().starts_with(reason), "{request:?}: {}", status.message());
        let batch = CheckRequest { checks: vec![ask(b"a", 1.0, ""), request.clone()], mode: 0 };
        let status = grpc.check(batch).await.expect_err("a mistake");
        assert_eq!(status.code(), code);
        assert!(status.message().starts_with(&format!("checks[1].{reason}")), "{status}");
    }
    for (checks, mode, reason) in [
        (vec![], 0, "checks: holds 0"),
        (vec![ask(b"a", 1.0, ""); 1_001], 0, "checks: holds 1001"),
        (vec![ask(b"a", 1.0, "")], 7, "mode: 7 is none"),
    ] {
        let status = grpc.check(CheckRequest { checks, mode }).await.expect_err("a mistake");
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().starts_with(reason), "{status}");
    }
    assert!(!grpc.allow(ask(b"a", 1.0, "")).await.expect("an answer").into_inner().allowed);
}

#[tokio::test]
async fn other_methods_and_paths_are_told_so() {
    let server = start([bucket("default", "1/hour")]).await;
    for (method, path, status, allow) in [
        ("GET", "/limit", 405, Some("POST")),
        ("PUT", "/v1/check", 405, Some("POST")),
        ("POST", "/health", 405, Some("GET, HEAD")),
        ("DELETE", "/ready", 405, Some("GET, HEAD")),
        ("GET", "/", 404, None),
        ("POST", "/limit/", 404, None),
    ] {
        let reply = server.http().await.send(method, path, &[], b"").await;
        assert_eq!((reply.status, reply.header("allow")), (status, allow), "{method} {path}");
        assert!(reply.body.ends_with('\n'));
    }
}
