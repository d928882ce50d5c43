//! Whom requests are counted for.

use http::HeaderName;
use tidegate_tower::{
    ByMethod, Extension, Extractor, ForwardedIp, Header, PeerIp, RateLimitLayer, Resolved, Trust,
};

use crate::fixture::{clock, from, limiter, passed, send, statuses, window, with};

fn five_a_minute() -> RateLimitLayer<crate::fixture::Store> {
    RateLimitLayer::new(limiter(&clock(), window("api", 5, 60)))
}

const PROXY: &str = "127.0.0.1";

fn behind_the_proxy() -> ForwardedIp {
    ForwardedIp::new(Trust::proxies(["127.0.0.1/32".parse().expect("a range")]))
}

/// P43 (a, f): no header is believed unless someone said so.
#[tokio::test]
async fn by_default_no_header_is_believed() {
    let layer = five_a_minute();
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
        statuses.push(send(&layer, with("203.0.113.7", &headers)).await.status);
    }
    assert_eq!(passed(&statuses), 5);
}

/// P43 (a): a peer that is no trusted proxy is counted itself, whatever it says.
#[tokio::test]
async fn an_untrusted_peer_cannot_say_who_it_is() {
    let layer = five_a_minute().key(behind_the_proxy());
    let mut statuses = Vec::new();
    for number in 0..20 {
        let liar = format!("198.51.100.{number}");
        statuses
            .push(send(&layer, with("203.0.113.7", &[("x-forwarded-for", &liar)])).await.status);
    }
    assert_eq!(passed(&statuses), 5);
}

/// P43 (b): only what the trusted proxy added counts. The key is the address it added.
#[tokio::test]
async fn what_a_client_wrote_left_of_the_proxys_entry_is_not_seen() {
    let layer = five_a_minute().key(behind_the_proxy());
    let mut statuses = Vec::new();
    for number in 0..20 {
        let chain = format!("198.51.100.{number}, 9.9.9.9");
        statuses.push(send(&layer, with(PROXY, &[("x-forwarded-for", &chain)])).await.status);
    }
    assert_eq!(passed(&statuses), 5);
    let other = with(PROXY, &[("x-forwarded-for", "9.9.9.10")]);
    assert_eq!(send(&layer, other).await.status, 200, "another client of the proxy");
}

/// P43 (c): several lines are one list.
#[tokio::test]
async fn two_lines_of_a_header_count_as_joined_in_order() {
    let layer = five_a_minute().key(behind_the_proxy());
    let lines =
        || with(PROXY, &[("x-forwarded-for", "6.6.6.6, 7.7.7.7"), ("x-forwarded-for", "9.9.9.9")]);
    let joined = || with(PROXY, &[("x-forwarded-for", "9.9.9.9")]);
    assert_eq!(passed(&statuses(&layer, 3, lines).await), 3);
    assert_eq!(passed(&statuses(&layer, 3, joined).await), 2);
}

/// P43 (d): what is no address falls back to the peer.
#[tokio::test]
async fn what_is_no_address_counts_for_the_peer() {
    let layer = five_a_minute().key(behind_the_proxy());
    let long = "9".repeat(10_240);
    let mut statuses = Vec::new();
    for text in ["unknown", "", "[::1]:80", "1.2.3.4:99", &long] {
        statuses.push(send(&layer, with(PROXY, &[("x-forwarded-for", text)])).await.status);
    }
    assert_eq!(statuses, [200; 5]);
    assert_eq!(send(&layer, from(PROXY)).await.status, 429, "all five counted for the peer");
    let with_ports = five_a_minute().key(behind_the_proxy().with_ports());
    let port = |port: &str| with(PROXY, &[("x-forwarded-for", &format!("1.2.3.4:{port}"))]);
    assert_eq!(passed(&statuses_of_ports(&with_ports, port).await), 5);
}

async fn statuses_of_ports<K: Extractor>(
    layer: &RateLimitLayer<crate::fixture::Store, tidegate_tower::Rule<K>>,
    request: impl Fn(&str) -> http::Request<http_body_util::Full<bytes::Bytes>>,
) -> Vec<u16> {
    let mut statuses = Vec::new();
    for port in ["1", "22", "333", "4444", "55555", "6"] {
        statuses.push(send(layer, request(port)).await.status);
    }
    statuses
}

/// P43 (e): with a chain shorter than the trusted hops, the peer is counted, and not what a client
/// wrote.
#[tokio::test]
async fn a_chain_shorter_than_the_trusted_hops_counts_for_the_peer() {
    let layer = five_a_minute().key(ForwardedIp::new(Trust::hops(2)));
    let mut statuses = Vec::new();
    for number in 0..20 {
        let chain = format!("198.51.100.{number}");
        statuses.push(send(&layer, with("10.0.0.1", &[("x-forwarded-for", &chain)])).await.status);
    }
    assert_eq!(passed(&statuses), 5);
}

/// P43 with the standard header, RFC 7239.
#[tokio::test]
async fn the_standard_header_is_read_from_the_right_too() {
    let layer = five_a_minute().key(behind_the_proxy().rfc7239());
    let mut statuses = Vec::new();
    for number in 0..20 {
        let chain = format!(
            "for=198.51.100.{number};proto=https, For=\"[2001:db8:9:9::{number:x}]:4711\";by=_proxy"
        );
        statuses.push(send(&layer, with(PROXY, &[("forwarded", &chain)])).await.status);
    }
    assert_eq!(passed(&statuses), 5, "one /64");
    let hidden = with(PROXY, &[("forwarded", "for=_secret")]);
    assert_eq!(send(&layer, hidden).await.status, 200, "counts for the peer");
}

/// P44: a /64 is one key, its neighbour another; a mapped address is the plain one.
#[tokio::test]
async fn ipv6_addresses_count_by_their_network() {
    let layer = five_a_minute();
    let mut statuses_seen = Vec::new();
    for host in 1..=0x14 {
        let peer = format!("2001:db8:1:1::{host:x}");
        statuses_seen.push(send(&layer, from(&peer)).await.status);
    }
    assert_eq!(passed(&statuses_seen), 5);
    assert_eq!(send(&layer, from("2001:db8:1:2::1")).await.status, 200);

    assert_eq!(passed(&statuses(&layer, 3, || from("::ffff:192.0.2.1")).await), 3);
    assert_eq!(passed(&statuses(&layer, 3, || from("192.0.2.1")).await), 2);
    assert_eq!(send(&layer, from("::ffff:198.51.100.1")).await.status, 200);

    let wide = five_a_minute().key(PeerIp::default().v6_prefix(56));
    assert_eq!(passed(&statuses(&wide, 5, || from("2001:db8:1:1::1")).await), 5);
    assert_eq!(send(&wide, from("2001:db8:1:2::1")).await.status, 429, "the same /56");
    assert_eq!(send(&wide, from("2001:db8:1:101::1")).await.status, 200, "the next /56");
}

#[tokio::test]
async fn without_a_key_a_request_is_refused_with_the_reason() {
    let layer = five_a_minute();
    let nameless = http::Request::new(http_body_util::Full::default());
    let answer = send(&layer, nameless).await;
    let expected = "the address of the peer is not known\n";
    assert_eq!((answer.status, answer.body.as_str()), (400, expected));
}

fn api_key() -> Header {
    Header::new(HeaderName::from_static("x-api-key"))
}

#[tokio::test]
async fn without_a_key_a_request_may_be_let_pass_or_counted_otherwise() {
    let keyed = || with("192.0.2.1", &[("x-api-key", "secret")]);
    let skipping = five_a_minute().key(api_key().or_skip());
    assert_eq!(passed(&statuses(&skipping, 20, || from("192.0.2.1")).await), 20);
    assert_eq!(passed(&statuses(&skipping, 7, keyed).await), 5);

    let falling_back = five_a_minute().key(api_key().or(PeerIp::default()));
    assert_eq!(passed(&statuses(&falling_back, 7, || from("192.0.2.1")).await), 5);
    assert_eq!(passed(&statuses(&falling_back, 7, keyed).await), 5);
}

#[tokio::test]
async fn a_header_is_a_key_only_when_it_is_there_once() {
    let layer = five_a_minute().key(api_key());
    for headers in [&[][..], &[("x-api-key", "")], &[("x-api-key", "a"), ("x-api-key", "b")]] {
        let answer = send(&layer, with("192.0.2.1", headers)).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        assert!(answer.body.starts_with("x-api-key: "), "{answer:?}");
    }
    let long = "a".repeat(1_025);
    let answer = send(&layer, with("192.0.2.1", &[("x-api-key", &long)])).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("1025 bytes long"), "{answer:?}");
    let hashed = five_a_minute().key(api_key().hashed());
    let long = || with("192.0.2.1", &[("x-api-key", &long)]);
    assert_eq!(passed(&statuses(&hashed, 7, long).await), 5);
}

#[tokio::test]
async fn a_secret_that_is_hashed_does_not_reach_the_store() {
    let hash = |header: Header, value: &str| {
        let request = with("192.0.2.1", &[("x-api-key", value)]);
        let mut key = tidegate_tower::KeyBuf::new();
        header.extract(&tidegate_tower::RequestHead::of(&request), &mut key);
        key.as_bytes().to_vec()
    };
    let plain = hash(api_key().hashed(), "secret");
    assert_eq!(plain.len(), 16);
    assert_eq!(plain, hash(api_key().hashed(), "secret"), "the same in every process");
    assert_ne!(plain, hash(api_key().hashed(), "secrets"));
    assert_ne!(plain, hash(api_key().hashed_with([7; 16]), "secret"));
}

#[derive(Clone)]
struct User {
    id: u64,
}

#[tokio::test]
async fn what_a_layer_outside_has_found_out_is_a_key() {
    let layer = five_a_minute().key(Extension::by(|user: &User| user.id));
    let logged_in = |id| {
        move || {
            let mut request = from("192.0.2.1");
            request.extensions_mut().insert(User { id });
            request
        }
    };
    assert_eq!(passed(&statuses(&layer, 7, logged_in(1)).await), 5);
    assert_eq!(passed(&statuses(&layer, 7, logged_in(2)).await), 5);
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, "the request has no User\n"));
}

/// P51 for joined keys: no two combinations run into one another.
#[tokio::test]
async fn parts_of_a_combined_key_do_not_run_into_one_another() {
    let named = |name| Header::new(HeaderName::from_static(name));
    let layer = five_a_minute().key((named("a"), named("b"), ByMethod));
    let parts = |a, b| move || with("192.0.2.1", &[("a", a), ("b", b)]);
    assert_eq!(passed(&statuses(&layer, 7, parts("x", "yz")).await), 5);
    assert_eq!(passed(&statuses(&layer, 7, parts("xy", "z")).await), 5);
    assert_eq!(passed(&statuses(&layer, 7, parts("x,1:y", "z")).await), 5);
    assert_eq!(send(&layer, with("192.0.2.1", &[("a", "x")])).await.status, 400);
}

#[tokio::test]
async fn a_function_may_fail_and_its_error_is_told() {
    let layer = five_a_minute().key_by(|request| {
        let user = request.headers().get("user").ok_or("log in first")?;
        user.to_str().map(str::to_owned).map_err(|_| "the user's name is not text")
    });
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, "log in first\n"));
    let ann = || with("192.0.2.1", &[("user", "ann")]);
    assert_eq!(passed(&statuses(&layer, 7, ann).await), 5);
}

#[tokio::test]
async fn a_key_may_be_looked_up_first() {
    let layer = five_a_minute()
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
    assert_eq!(passed(&statuses(&layer, 3, token("ann's")).await), 3);
    assert_eq!(passed(&statuses(&layer, 3, token("ann's too")).await), 2);
    assert_eq!(passed(&statuses(&layer, 7, token("unknown")).await), 5, "by the peer");
}
