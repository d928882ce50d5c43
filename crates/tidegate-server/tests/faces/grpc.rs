//! gRPC.

use tidegate::{Amount, Limit, Span};
use tidegate_server::proto::v1::{AllowRequest, CheckRequest, Mode, Outcome};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::harness::{bucket, policy, start};

fn ask(key: &str, tokens: f64) -> AllowRequest {
    AllowRequest { key: key.to_owned().into(), tokens, ..AllowRequest::default() }
}

#[tokio::test]
async fn an_answer_has_every_field() {
    let server = start([bucket("default", "10/s burst 50")]).await;
    let mut grpc = server.grpc().await;
    let answer = grpc.allow(ask("alice", 0.0)).await.expect("an answer").into_inner();
    assert!(answer.allowed && !answer.degraded);
    // As in the original, an allowed answer has a wait of zero.
    let wait = answer.retry_after.expect("a wait");
    assert_eq!((wait.seconds, wait.nanos), (0, 0));
    assert_eq!(answer.retry_after_exact, None);
    assert_eq!((answer.limit, answer.remaining), (50.0, 49.0));
    assert_eq!(answer.reset_after.expect("a reset").nanos, 100_000_000);
    assert_eq!((answer.limit_name.as_str(), answer.policy.as_str()), ("only", "default"));
    assert_eq!(answer.outcome(), Outcome::Allow);
}

/// P22: whole seconds are rounded up, the exact wait is beside them.
#[tokio::test]
async fn a_denial_is_an_ok_reply_with_both_waits() {
    let server = start([bucket("default", "5/s")]).await;
    let mut grpc = server.grpc().await;
    assert!(grpc.allow(ask("a", 5.0)).await.expect("an answer").into_inner().allowed);
    let denied = grpc.allow(ask("a", 0.0)).await.expect("an answer").into_inner();
    assert_eq!((denied.allowed, denied.outcome()), (false, Outcome::Deny));
    let (wait, exact) = (denied.retry_after.expect("a wait"), denied.retry_after_exact);
    assert_eq!((wait.seconds, wait.nanos), (1, 0));
    assert_eq!(exact.expect("an exact wait").nanos, 200_000_000);
}

/// P30: never is an outcome of its own, without a wait.
#[tokio::test]
async fn a_cost_above_the_limit_exceeds() {
    let server = start([bucket("default", "3/2s")]).await;
    let mut grpc = server.grpc().await;
    let never = grpc.allow(ask("a", 4.0)).await.expect("an answer").into_inner();
    assert_eq!((never.allowed, never.outcome()), (false, Outcome::Exceeds));
    assert_eq!((never.retry_after, never.retry_after_exact), (None, None));
    assert_eq!(never.remaining, 3.0);
}

#[tokio::test]
async fn doubles_mean_their_shortest_decimal() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut grpc = server.grpc().await;
    for _ in 0..10 {
        assert!(grpc.allow(ask("a", 0.1)).await.expect("an answer").into_inner().allowed);
    }
    let denied = grpc.allow(ask("a", 1e-6)).await.expect("an answer").into_inner();
    assert_eq!((denied.allowed, denied.remaining), (false, 0.0));
}

#[tokio::test]
async fn keys_are_any_bytes() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut grpc = server.grpc().await;
    for key in [&b"\xff\x00"[..], b"\xff\x01", b"\xff", b"\x00"] {
        let request = AllowRequest { key: key.to_vec().into(), ..AllowRequest::default() };
        assert!(grpc.allow(request).await.expect("an answer").into_inner().allowed, "{key:?}");
    }
}

#[tokio::test]
async fn a_debit_is_charged_below_zero() {
    let server = start([bucket("default", "1/s burst 5")]).await;
    let mut grpc = server.grpc().await;
    let debit = AllowRequest { debit: true, ..ask("a", 4.0) };
    assert!(grpc.allow(debit.clone()).await.expect("an answer").into_inner().allowed);
    assert!(!grpc.allow(debit).await.expect("an answer").into_inner().allowed);
    let denied = grpc.allow(ask("a", 1.0)).await.expect("an answer").into_inner();
    assert_eq!(denied.retry_after.expect("a wait").seconds, 4);
}

#[tokio::test]
async fn a_batch_is_all_or_nothing_or_each() {
    let server = start([bucket("default", "2/hour")]).await;
    let mut grpc = server.grpc().await;
    let checks = vec![ask("a", 1.0), ask("b", 2.0), ask("a", 2.0)];
    let all = CheckRequest { checks: checks.clone(), mode: Mode::All.into() };
    let denied = grpc.check(all).await.expect("an answer").into_inner();
    assert_eq!((denied.allowed, denied.governing, denied.decisions.len()), (false, 2, 3));
    let each = CheckRequest { checks, mode: Mode::Each.into() };
    let answer = grpc.check(each).await.expect("an answer").into_inner();
    let allowed: Vec<bool> = answer.decisions.iter().map(|one| one.allowed).collect();
    assert_eq!(allowed, [true, true, false]);
}

/// P24: the denial speaks of the limit that denied.
#[tokio::test]
async fn the_governing_limit_is_named() {
    let minute = Limit::fixed_window("minute", Amount::from_units(9), Span::from_secs(60));
    let hour = Limit::fixed_window("hour", Amount::from_units(5), Span::from_secs(3_600));
    let server =
        start([policy("default", [minute.expect("a limit"), hour.expect("a limit")])]).await;
    let mut grpc = server.grpc().await;
    grpc.allow(ask("a", 5.0)).await.expect("an answer");
    let denied = grpc.allow(ask("a", 1.0)).await.expect("an answer").into_inner();
    assert_eq!((denied.limit_name.as_str(), denied.limit), ("hour", 5.0));
    assert_eq!(denied.retry_after.expect("a wait").seconds, 3_600);
}

#[tokio::test]
async fn a_stream_is_answered_in_order() {
    let server = start([bucket("default", "300/hour")]).await;
    let asked: Vec<AllowRequest> = (0..500).map(|_| ask("a", 1.0)).collect();
    let inbound = futures_util::stream::iter(asked);
    let mut answers = server.grpc().await.stream(inbound).await.expect("a stream").into_inner();
    let mut expected = 299.0;
    for at in 0..500 {
        let answer = answers.message().await.expect("an answer").expect("as many as asked");
        assert_eq!(answer.allowed, at < 300);
        assert_eq!(answer.remaining, f64::max(expected, 0.0));
        expected -= 1.0;
    }
    assert_eq!(answers.message().await.expect("an end"), None);
}

#[tokio::test]
async fn a_mistake_ends_a_stream_after_the_answers_before_it() {
    let server = start([bucket("default", "1/hour")]).await;
    let nowhere = AllowRequest { policy: "nope".into(), ..ask("b", 1.0) };
    for (mistake, code) in [(nowhere, Code::NotFound), (ask("", 1.0), Code::InvalidArgument)] {
        let asked = vec![ask("a", 1.0), ask("c", 1.0), mistake, ask("d", 1.0)];
        let inbound = futures_util::stream::iter(asked);
        let mut answers = server.grpc().await.stream(inbound).await.expect("a stream").into_inner();
        for _ in 0..2 {
            assert!(answers.message().await.expect("an answer").is_some());
        }
        assert_eq!(answers.message().await.expect_err("the mistake").code(), code);
    }
    let fresh = server.grpc().await.allow(ask("d", 1.0)).await.expect("an answer").into_inner();
    assert!(fresh.allowed, "what follows a mistake is not charged");
}

#[tokio::test]
async fn health_says_serving_for_the_server_and_the_limiter() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut health = HealthClient::new(server.channel().await);
    for service in ["", "ratelimiter.v1.RateLimiter"] {
        let request = HealthCheckRequest { service: service.into() };
        let answer = health.check(request).await.expect("health").into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    let request = HealthCheckRequest { service: "other".into() };
    assert_eq!(health.check(request).await.expect_err("none").code(), Code::NotFound);
}

#[tokio::test]
async fn reflection_lists_the_services_in_both_versions() {
    use tonic_reflection::pb::{v1, v1alpha};

    let server = start([bucket("default", "1/hour")]).await;
    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut client =
        v1::server_reflection_client::ServerReflectionClient::new(server.channel().await);
    let inbound = futures_util::stream::iter([request]);
    let mut answers = client.server_reflection_info(inbound).await.expect("a stream").into_inner();
    let answer = answers.message().await.expect("an answer").expect("one");
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(list)) =
        answer.message_response
    else {
        panic!("a list of services");
    };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    assert!(names.contains(&"ratelimiter.v1.RateLimiter"), "{names:?}");
    assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");

    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
                "ratelimiter.v1.AllowResponse".into(),
            ),
        ),
    };
    let mut client =
        v1alpha::server_reflection_client::ServerReflectionClient::new(server.channel().await);
    let inbound = futures_util::stream::iter([request]);
    let mut answers = client.server_reflection_info(inbound).await.expect("a stream").into_inner();
    let answer = answers.message().await.expect("an answer").expect("one");
    assert!(matches!(
        answer.message_response,
        Some(v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(_))
    ));
}

#[tokio::test]
async fn an_unknown_service_or_method_is_unimplemented() {
    let server = start([bucket("default", "1/hour")]).await;
    for path in ["/other.Service/Call", "/ratelimiter.v1.RateLimiter/Other", "/"] {
        let mut grpc = tonic::client::Grpc::new(server.channel().await);
        grpc.ready().await.expect("ready");
        let codec = tonic_prost::ProstCodec::<AllowRequest, AllowRequest>::default();
        let path = http::uri::PathAndQuery::from_static(path);
        let answer = grpc.unary(tonic::Request::new(ask("a", 1.0)), path, codec).await;
        assert_eq!(answer.expect_err("none").code(), Code::Unimplemented);
    }
}
