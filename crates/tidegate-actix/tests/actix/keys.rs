//! Whom requests are counted for.

use actix_web::HttpMessage;
use actix_web::dev::{Service, Transform};
use actix_web::http::header::HeaderName;
use actix_web::test::TestRequest;
use tidegate_actix::{
    ByMethod, Extension, Extractor, ForwardedIp, Header, PeerIp, RateLimit, Resolved, Trust,
};

use crate::fixture::{Reached, clock, from, limiter, passed, read, send, statuses, window, with};

fn five_a_minute() -> RateLimit<crate::fixture::Store> {
    RateLimit::new(limiter(&clock(), window("api", 5, 60)))
}

const PROXY: &str = "127.0.0.1";

fn behind_the_proxy() -> ForwardedIp {
    ForwardedIp::new(Trust::proxies(["127.0.0.1/32".parse().expect("a range")]))
}

/// P43 (a, f): no header is believed unless someone said so.
#[actix_web::test]
async fn by_default_no_header_is_believed() {
    let limit = five_a_minute();
    let mut statuses = Vec::new();
    for number in 0..20 {
        let liar = format!("198.51.100.{number}");
        let forwarded = format!("for={liar}");
        let headers = [
            ("x-forwarded-for", liar.as_str()),
            ("x-real-ip", &liar),
            ("forwarded", &forwarded),
            ("cf-connecting-ip", &liar),
        ];
        statuses.push(send(&limit, with("203.0.113.7", &headers)).await.status);
    }
    assert_eq!(passed(&statuses), 5);
}

/// P43 (a): a peer that is no trusted proxy is counted itself, whatever it says.
#[actix_web::test]
async fn an_untrusted_peer_cannot_say_who_it_is() {
    let limit = five_a_minute().key(behind_the_proxy());
    let mut statuses = Vec::new();
    for number in 0..20 {
        let liar = format!("198.51.100.{number}");
        statuses
            .push(send(&limit, with("203.0.113.7", &[("x-forwarded-for", &liar)])).await.status);
    }
    assert_eq!(passed(&statuses), 5);
}

/// P43 (b): only what the trusted proxy added counts. The key is the address it added.
#[actix_web::test]
async fn what_a_client_wrote_left_of_the_proxys_entry_is_not_seen() {
    let limit = five_a_minute().key(behind_the_proxy());
    let mut statuses = Vec::new();
    for number in 0..20 {
        let chain = format!("198.51.100.{number}, 9.9.9.9");
        statuses.push(send(&limit, with(PROXY, &[("x-forwarded-for", &chain)])).await.status);
    }
    assert_eq!(passed(&statuses), 5);
    let other = with(PROXY, &[("x-forwarded-for", "9.9.9.10")]);
    assert_eq!(send(&limit, other).await.status, 200, "another client of the proxy");
}

/// P43 (c): several lines are one list.
#[actix_web::test]
async fn two_lines_of_a_header_count_as_joined_in_order() {
    let limit = five_a_minute().key(behind_the_proxy());
    let lines =
        || with(PROXY, &[("x-forwarded-for", "6.6.6.6, 7.7.7.7"), ("x-forwarded-for", "9.9.9.9")]);
    let joined = || with(PROXY, &[("x-forwarded-for", "9.9.9.9")]);
    assert_eq!(passed(&statuses(&limit, 3, lines).await), 3);
    assert_eq!(passed(&statuses(&limit, 3, joined).await), 2);
}

/// P43 (d): what is no address falls back to the peer.
#[actix_web::test]
async fn what_is_no_address_counts_for_the_peer() {
    let limit = five_a_minute().key(behind_the_proxy());
    let long = "9".repeat(10_240);
    let mut statuses = Vec::new();
    for text in ["unknown", "", "[::1]:80", "1.2.3.4:99", &long] {
        statuses.push(send(&limit, with(PROXY, &[("x-forwarded-for", text)])).await.status);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(send(&limit, from(PROXY)).await.status, 429, "all five counted for the peer");
    let with_ports = five_a_minute().key(behind_the_proxy().with_ports());
    let port = |port: &str| with(PROXY, &[("x-forwarded-for", &format!("1.2.3.4:{port}"))]);
    assert_eq!(passed(&statuses_of_ports(&with_ports, port).await), 5);
}

async fn statuses_of_ports<K: Extractor>(
    limit: &RateLimit<crate::fixture::Store, tidegate_actix::Rule<K>>,
    request: impl Fn(&str) -> TestRequest,
) -> Vec<u16> {
    let mut statuses = Vec::new();
    for port in ["1", "22", "333", "4444", "55555", "6"] {
        statuses.push(send(limit, request(port)).await.status);
    }
    statuses
}

/// P43 (e): with a chain shorter than the trusted hops, the peer is counted, and not what a client
/// wrote.
#[actix_web::test]
async fn a_chain_shorter_than_the_trusted_hops_counts_for_the_peer() {
    let limit = five_a_minute().key(ForwardedIp::new(Trust::hops(2)));
    let mut statuses = Vec::new();
    for number in 0..20 {
        let chain = format!("198.51.100.{number}");
        statuses.push(send(&limit, with("10.0.0.1", &[("x-forwarded-for", &chain)])).await.status);
    }
    assert_eq!(passed(&statuses), 5);
}

/// P43 with the standard header, RFC 7239.
#[actix_web::test]
async fn the_standard_header_is_read_from_the_right_too() {
    let limit = five_a_minute().key(behind_the_proxy().rfc7239());
    let mut statuses = Vec::new();
    for number in 0..20 {
        let chain = format!(
            "for=198.51.100.{number};proto=https, For=\"[2001:db8:9:9::{number:x}]:4711\";by=_proxy"
        );
        statuses.push(send(&limit, with(PROXY, &[("forwarded", &chain)])).await.status);
    }
    assert_eq!(passed(&statuses), 5, "one /64");
    let hidden = with(PROXY, &[("forwarded", "for=_secret")]);
    assert_eq!(send(&limit, hidden).await.status, 200, "counts for the peer");
}

/// P44: a /64 is one key, its neighbour another; a mapped address is the plain one.
#[actix_web::test]
async fn ipv6_addresses_count_by_their_network() {
    let limit = five_a_minute();
    let mut statuses_seen = Vec::new();
    for host in 1..=0x14 {
        let peer = format!("2001:db8:1:1::{host:x}");
        statuses_seen.push(send(&limit, from(&peer)).await.status);
    }
    assert_eq!(passed(&statuses_seen), 5);
    assert_eq!(send(&limit, from("2001:db8:1:2::1")).await.status, 200);

    assert_eq!(passed(&statuses(&limit, 3, || from("::ffff:192.0.2.1")).await), 3);
    assert_eq!(passed(&statuses(&limit, 3, || from("192.0.2.1")).await), 2);
    assert_eq!(send(&limit, from("::ffff:198.51.100.1")).await.status, 200);

    let wide = five_a_minute().key(PeerIp::default().v6_prefix(56));
    assert_eq!(passed(&statuses(&wide, 5, || from("2001:db8:1:1::1")).await), 5);
    assert_eq!(send(&wide, from("2001:db8:1:2::1")).await.status, 429, "the same /56");
    assert_eq!(send(&wide, from("2001:db8:1:101::1")).await.status, 200, "the next /56");
}

#[actix_web::test]
async fn without_a_key_a_request_is_refused_with_the_reason() {
    let limit = five_a_minute();
    let answer = send(&limit, TestRequest::get()).await;
    let expected = "the address of the peer is not known\n";
    assert_eq!((answer.status, answer.body.as_str()), (400, expected));
}

fn api_key() -> Header {
    Header::new(HeaderName::from_static("x-api-key"))
}

#[actix_web::test]
async fn without_a_key_a_request_may_be_let_pass_or_counted_otherwise() {
    let keyed = || with("192.0.2.1", &[("x-api-key", "secret")]);
    let skipping = five_a_minute().key(api_key().or_skip());
    assert_eq!(passed(&statuses(&skipping, 20, || from("192.0.2.1")).await), 20);
    assert_eq!(passed(&statuses(&skipping, 7, keyed).await), 5);

    let falling_back = five_a_minute().key(api_key().or(PeerIp::default()));
    assert_eq!(passed(&statuses(&falling_back, 7, || from("192.0.2.1")).await), 5);
    assert_eq!(passed(&statuses(&falling_back, 7, keyed).await), 5);
}

#[actix_web::test]
async fn a_header_is_a_key_only_when_it_is_there_once() {
    let limit = five_a_minute().key(api_key());
    for headers in [&[][..], &[("x-api-key", "")], &[("x-api-key", "a"), ("x-api-key", "b")]] {
        let answer = send(&limit, with("192.0.2.1", headers)).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        assert!(answer.body.starts_with("x-api-key: "), "{answer:?}");
    }
    let long = "a".repeat(1_025);
    let answer = send(&limit, with("192.0.2.1", &[("x-api-key", &long)])).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("1025 bytes long"), "{answer:?}");
    let hashed = five_a_minute().key(api_key().hashed());
    let long = || with("192.0.2.1", &[("x-api-key", &long)]);
    assert_eq!(passed(&statuses(&hashed, 7, long).await), 5);
}

#[actix_web::test]
async fn a_secret_that_is_hashed_does_not_reach_the_store() {
    let hash = |header: Header, value: &str| {
        let request = with("192.0.2.1", &[("x-api-key", value)]);
        let mut key = tidegate_actix::KeyBuf::new();
        header.extract(&request.to_srv_request(), &mut key);
        key.as_bytes().to_vec()
    };
    let plain = hash(api_key().hashed(), "secret");
    assert_eq!(plain.len(), 16);
    assert_eq!(plain, hash(api_key().hashed(), "secret"), "the same in every process");
    assert_ne!(plain, hash(api_key().hashed(), "secrets"));
    assert_ne!(plain, hash(api_key().hashed_with([7; 16]), "secret"));
}

struct User {
    id: u64,
}

#[actix_web::test]
async fn what_a_middleware_outside_has_found_out_is_a_key() {
    let limit = five_a_minute().key(Extension::by(|user: &User| user.id));
    let by_user = limit.new_transform(Reached).await.unwrap();
    let ask = async |id| {
        let request = from("192.0.2.1").to_srv_request();
        request.extensions_mut().insert(User { id });
        read(by_user.call(request).await.unwrap()).await.status
    };
    for id in [1, 2] {
        let mut statuses = Vec::new();
        for _ in 0..7 {
            statuses.push(ask(id).await);
        }
        assert_eq!(passed(&statuses), 5);
    }
    let answer = send(&limit, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, "the request has no User\n"));
}

/// P51 for joined keys: no two combinations run into one another.
#[actix_web::test]
async fn parts_of_a_combined_key_do_not_run_into_one_another() {
    let named = |name| Header::new(HeaderName::from_static(name));
    let limit = five_a_minute().key((named("a"), named("b"), ByMethod));
    let parts = |a, b| move || with("192.0.2.1", &[("a", a), ("b", b)]);
    assert_eq!(passed(&statuses(&limit, 7, parts("x", "yz")).await), 5);
    assert_eq!(passed(&statuses(&limit, 7, parts("xy", "z")).await), 5);
    assert_eq!(passed(&statuses(&limit, 7, parts("x,1:y", "z")).await), 5);
    assert_eq!(send(&limit, with("192.0.2.1", &[("a", "x")])).await.status, 400);
}

#[actix_web::test]
async fn a_function_may_fail_and_its_error_is_told() {
    let limit = five_a_minute().key_by(|request| {
        let user = request.headers().get("user").ok_or("log in first")?;
        user.to_str().map(str::to_owned).map_err(|_| "the user's name is not text")
    });
    let answer = send(&limit, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, "log in first\n"));
    let ann = || with("192.0.2.1", &[("user", "ann")]);
    assert_eq!(passed(&statuses(&limit, 7, ann).await), 5);
}

#[actix_web::test]
async fn a_key_may_be_looked_up_first() {
    let limit = five_a_minute()
        .key_async(|request| {
            let token = request.headers().get("token").cloned();
            async move {
                tokio::task::yield_now().await;
                match token.as_ref()?.as_bytes() {
                    b"ann's" | b"ann's too" => Some("ann"),
                    _ => None,
                }
            }
        })
        .key(Resolved.or(PeerIp::default()));
    let token = |token| move || with("192.0.2.1", &[("token", token)]);
    assert_eq!(passed(&statuses(&limit, 3, token("ann's")).await), 3);
    assert_eq!(passed(&statuses(&limit, 3, token("ann's too")).await), 2);
    assert_eq!(passed(&statuses(&limit, 7, token("unknown")).await), 5, "by the peer");
}
