//! The rate limit headers, against the grammar of the IETF's draft 11.

use std::collections::BTreeMap;

use tidegate::{Amount, Limit, Span};
use tidegate_server::settings::HeaderDialect;

use crate::harness::{policy, settings, start, start_with};

/// Parameters of one list member, by name.
type Member = (String, BTreeMap<String, String>);

/// The members of a structured field list of strings with integer or other parameters (RFC 9651),
/// as far as these headers use it; none when the field is malformed.
fn list(field: &str) -> Option<Vec<Member>> {
    field.split(',').map(|member| item(member.trim())).collect()
}

fn item(member: &str) -> Option<Member> {
    let mut parts = member.split(';');
    let name = parts.next()?.strip_prefix('"')?.strip_suffix('"')?;
    let parameters = parts.map(|part| {
        let (key, value) = part.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    });
    Some((name.to_owned(), parameters.collect::<Option<_>>()?))
}

fn integer(member: &Member, key: &str) -> Option<i64> {
    member.1.get(key)?.parse().ok()
}

/// Whether a `RateLimit-Policy` is as the draft has it: q is required and not negative, w a
/// positive integer.
fn is_policy(field: &str) -> bool {
    list(field).is_some_and(|members| {
        members.iter().all(|member| {
            let has_window =
                !member.1.contains_key("w") || integer(member, "w").is_some_and(|w| w > 0);
            integer(member, "q").is_some_and(|q| q >= 0) && has_window
        })
    })
}

/// Whether a `RateLimit` is as the draft has it: r is required, and r and t are not negative.
fn is_state(field: &str) -> bool {
    list(field).is_some_and(|members| {
        members.iter().all(|member| {
            let has_time =
                !member.1.contains_key("t") || integer(member, "t").is_some_and(|t| t >= 0);
            integer(member, "r").is_some_and(|r| r >= 0) && has_time
        })
    })
}

#[test]
fn the_checker_knows_good_fields_from_bad_ones() {
    for good in [
        "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400",
        "\"default\";q=100;w=10",
        "\"peruser\";q=65535;qu=\"content-bytes\";w=10;pk=:c2RmakxKVU9VSA==:",
    ] {
        assert!(is_policy(good), "{good}");
    }
    for bad in ["quota;q=100;w=1", "\"a\";w=60", "\"a\";q=-1", "\"a\";q=1;w=0", "\"a\";q=1;w=0.5"] {
        assert!(!is_policy(bad), "{bad}");
    }
    assert!(
        is_state("\"default\";r=50;t=30") && is_state("\"hour\";r=10;t=5, \"day\";r=100;t=36000")
    );
    assert!(is_state("\"default\";r=999;pk=:dHJpYWwxMjEzMjM=:"));
    assert!(!is_state("\"a\";t=5") && !is_state("limit=10, remaining=5, reset=3"));
}

fn api() -> Vec<Limit> {
    let daily = Limit::fixed_window("daily", Amount::from_units(10_000), Span::from_secs(86_400));
    vec![Limit::quota("burst", "10/s burst 50").expect("a limit"), daily.expect("a limit")]
}

#[tokio::test]
async fn every_limit_is_listed_and_the_governing_one_reported() {
    let server = start([policy("default", api())]).await;
    let reply = server.limit(&[("X-Client-Key", "a")]).await;
    let listed = "\"burst\";q=50;w=5, \"daily\";q=10000;w=86400";
    assert_eq!(reply.header("ratelimit-policy"), Some(listed));
    assert_eq!(reply.header("ratelimit"), Some("\"burst\";r=49;t=5"));
    assert!(is_policy(listed) && is_state("\"burst\";r=49;t=5"));
    assert_eq!(reply.header("x-ratelimit-limit"), None);
}

#[tokio::test]
async fn each_dialect_says_its_own() {
    for (dialect, draft, legacy) in [
        (HeaderDialect::Draft11, true, false),
        (HeaderDialect::Legacy, false, true),
        (HeaderDialect::Both, true, true),
        (HeaderDialect::Off, false, false),
    ] {
        let mut settings = settings([policy("default", api())]);
        settings.ratelimit_headers = dialect;
        let server = start_with(&settings).await;
        let reply = server.limit(&[("X-Client-Key", "a")]).await;
        for name in ["ratelimit", "ratelimit-policy"] {
            assert_eq!(reply.header(name).is_some(), draft, "{dialect:?} {name}");
        }
        for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            assert_eq!(reply.header(name).is_some(), legacy, "{dialect:?} {name}");
        }
    }
}

#[tokio::test]
async fn windows_below_a_second_are_left_out_and_fractions_round_safely() {
    let units = Amount::from_units;
    let half = Limit::fixed_window("half", units(9), Span::from_millis(500)).expect("a limit");
    let odd = Limit::rolling_window("odd", units(9), Span::from_millis(1_500)).expect("a limit");
    let quick = Limit::quota("quick", "100/s burst 20").expect("a limit");
    let server = start([policy("default", [half, odd, quick])]).await;
    let reply = server.limit(&[("X-Client-Key", "a"), ("X-Required-Tokens", "0.5")]).await;
    let listed = "\"half\";q=9, \"odd\";q=9;w=2, \"quick\";q=20";
    assert_eq!(reply.header("ratelimit-policy"), Some(listed));
    assert_eq!(reply.header("ratelimit"), Some("\"half\";r=8;t=1"));
}

/// P27: never negative, never above the limit; a wait exactly when there is something to wait for.
#[tokio::test]
async fn what_is_told_is_possible_under_every_algorithm() {
    let (max, window) = (Amount::from_units(7), Span::from_millis(2_500));
    let limits = [
        Limit::quota("bucket", "7/2500ms").expect("a limit"),
        Limit::fixed_window("fixed", max, window).expect("a limit"),
        Limit::fixed_window_from_first("first", max, window).expect("a limit"),
        Limit::rolling_window("rolling", max, window).expect("a limit"),
        Limit::sliding_window("sliding", max, window).expect("a limit"),
    ];
    let spaced = limits
        .clone()
        .map(|limit| limit.with_min_interval(Span::from_millis(400)).expect("an interval"));
    for limit in limits.into_iter().chain(spaced) {
        let server = start([policy("default", [limit.clone()])]).await;
        for step in 0..60_u64 {
            let cost = ["1", "2.5", "7", "8"][usize::try_from(step % 4).expect("small")];
            let reply = server.limit(&[("X-Client-Key", "a"), ("X-Required-Tokens", cost)]).await;
            let state = reply.header("ratelimit").expect("a state").to_owned();
            assert!(is_state(&state), "{state}");
            let members = list(&state).expect("a list");
            let (left, time) = (integer(&members[0], "r"), integer(&members[0], "t"));
            assert!(left <= Some(7), "{state}");
            let wait =
                reply.header("retry-after").map(|wait| wait.parse::<i64>().expect("seconds"));
            let never = reply.body.starts_with("cost");
            assert_eq!(wait.is_some(), reply.status == 429 && !never, "{reply:?}");
            assert!(wait.is_none_or(|wait| wait >= 1 && Some(wait) == time), "{reply:?}");
            server.clock.advance(Span::from_millis(137 * (step % 5)));
        }
    }
}

/// A client that paces itself at r per t passes.
#[tokio::test]
async fn a_client_that_paces_itself_by_the_header_is_never_denied() {
    let (max, window) = (Amount::from_units(10), Span::from_secs(7));
    let limits = [
        Limit::quota("bucket", "10/7s").expect("a limit"),
        Limit::fixed_window("fixed", max, window).expect("a limit"),
        Limit::rolling_window("rolling", max, window).expect("a limit"),
        Limit::sliding_window("sliding", max, window).expect("a limit"),
    ];
    for limit in limits {
        let server = start([policy("default", [limit.clone()])]).await;
        let first = server.limit(&[("X-Client-Key", "a"), ("X-Required-Tokens", "4")]).await;
        let members = list(first.header("ratelimit").expect("a state")).expect("a list");
        let left = u64::try_from(integer(&members[0], "r").expect("r")).expect("positive");
        let time = u64::try_from(integer(&members[0], "t").expect("t")).expect("positive");
        assert_eq!(left, 6);
        for _ in 0..left {
            server.clock.advance(Span::from_micros(time * 1_000_000 / left + 1));
            let reply = server.limit(&[("X-Client-Key", "a")]).await;
            assert_eq!(reply.status, 200, "{}: {reply:?}", limit.name());
        }
    }
}
