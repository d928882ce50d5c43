//! How many calls a request is, and what becomes of them when the server forgets its scripts.

use tidegate::{Check, Cost, Key, Limit, Span, Store, StoreErrorKind};
use tidegate_redis::{Address, RedisConfig, RedisStore, Secret};
use tidegate_testkit::RedisServer;

use crate::fixture::{allowed, bucket, config, policy, rolling, take, units};

/// How often a command was called, by the server's own count.
fn calls(server: &RedisServer, command: &str) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]);
    let line =
        stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    let count = line.and_then(|line| line.split(',').next());
    count.map_or(0, |count| count.parse().unwrap())
}

/// A request is one script call, however many checks and limits it has.
#[tokio::test]
async fn a_request_is_one_call() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let limits = [
        Limit::quota("a", "5/s").unwrap().with_min_interval(Span::from_secs(1)).unwrap(),
        Limit::fixed_window("b", units(5), Span::from_secs(60)).unwrap(),
        Limit::rolling_window("c", units(5), Span::from_secs(60)).unwrap(),
        Limit::sliding_window("d", units(5), Span::from_secs(60)).unwrap(),
    ];
    let policy = policy(limits);
    let check = |key| Check::take(Key::new(key).unwrap(), &policy, Cost::ONE);
    let checks = [check("a"), check("b"), check("c")];
    // The first call meets a server that does not know the script, and is the only one to do so.
    store.take(&checks).await.unwrap();
    assert_eq!((calls(&server, "evalsha"), calls(&server, "eval")), (1, 1));
    for _ in 0..4 {
        store.take(&checks).await.unwrap();
        store.take_each(&checks).await.unwrap();
    }
    assert_eq!((calls(&server, "evalsha"), calls(&server, "eval")), (9, 1));
}

/// A thousand checks are one call too, on one key or on as many.
#[tokio::test]
async fn a_thousand_checks_are_one_call() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let day = Span::from_secs(86_400);
    let policy = policy([
        Limit::rolling_window("a", units(500), day).unwrap(),
        Limit::fixed_window_from_first("b", units(800), day).unwrap(),
    ]);
    let names: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    let check = |key| Check::take(Key::new(key).unwrap(), &policy, Cost::ONE);
    let spread: Vec<Check<'_>> = names.iter().map(|name| check(name.as_str())).collect();
    let verdict = store.take(&spread).await.unwrap();
    assert!(verdict.is_allowed() && verdict.decisions().len() == 1_000);
    let verdict = store.take_each(&vec![check("k"); 1_000]).await.unwrap();
    let passed = verdict.decisions().iter().filter(|decision| decision.is_allowed());
    assert_eq!(passed.count(), 500);
    assert_eq!((calls(&server, "evalsha"), calls(&server, "eval")), (2, 1));
    // Nothing asked is nothing decided.
    assert!(store.take(&[]).await.unwrap().decisions().is_empty());
}

/// P05 (a): a flushed script is sent again in the same call, and counts once.
#[tokio::test]
async fn flushed_scripts_are_repaired_and_count_once() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let policy = bucket("100/day");
    let mut passed = 0;
    for turn in 0..120 {
        if turn % 10 == 0 {
            assert_eq!(server.command(&["SCRIPT", "FLUSH"]), "OK");
        }
        passed += allowed(&store, &policy, 1).await;
    }
    assert_eq!(passed, 100);
}

/// P05 (d): a flush between calls that are under way together breaks none of them.
#[tokio::test]
async fn a_flush_between_calls_under_way_breaks_none() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let policy = rolling(50, Span::from_secs(86_400));
    let check = Check::take(Key::new("k").unwrap(), &policy, Cost::ONE);
    let mut passed = 0;
    for _ in 0..10 {
        let calls: Vec<_> = (0..10).map(|_| tokio::spawn(store.take(&[check]))).collect();
        tokio::task::yield_now().await;
        server.command(&["SCRIPT", "FLUSH"]);
        for call in calls {
            passed += usize::from(call.await.unwrap().unwrap().is_allowed());
        }
    }
    assert_eq!(passed, 50);
}

#[tokio::test]
async fn a_unix_socket_serves() {
    let server = RedisServer::start_on_socket(&[]);
    let store = RedisStore::new(RedisConfig {
        address: Address::Unix(server.socket().into()),
        timeout: Span::from_secs(20),
        ..RedisConfig::default()
    });
    store.ping().await.unwrap();
    assert_eq!(allowed(&store, &bucket("2/day"), 3).await, 2);
}

/// A user of an access list, with a password, in a database of its own, under a prefix.
#[tokio::test]
async fn a_user_logs_in_and_selects_a_database() {
    let server = RedisServer::start(&[]);
    let rights = ["ACL", "SETUSER", "tide", "on", ">sword", "~limits:*", "+@all", "-@dangerous"];
    assert_eq!(server.command(&rights), "OK");
    let mut login = RedisConfig {
        username: Some("tide".into()),
        password: Some(Secret::new("sword")),
        db: 3,
        prefix: "limits".into(),
        ..config(&server)
    };
    let store = RedisStore::new(login.clone());
    assert_eq!(allowed(&store, &bucket("2/day"), 3).await, 2);
    assert!(server.command(&["INFO", "keyspace"]).contains("db3:keys=1"));

    // Where the user may not go, it is told so, and nothing is leaked.
    login.prefix = "elsewhere".into();
    let error = RedisStore::new(login.clone())
        .take(&[Check::take(Key::new("k").unwrap(), &bucket("2/day"), Cost::ONE)])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Auth, "{error}");
    login.password = Some(Secret::new("fish"));
    let error = RedisStore::new(login.clone()).ping().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Auth, "{error}");
    assert!(!format!("{error} {error:?} {login:?}").contains("fish"));
}

/// P84: a log of a hundred thousand entries is no slower to ask than a short one.
#[tokio::test]
async fn a_long_log_is_not_scanned() {
    let server = RedisServer::start(&[]);
    let store = RedisStore::new(config(&server));
    let policy = rolling(100_000, Span::from_secs(86_400));
    take(&store, &policy, Cost::ONE).await;
    let fill = "local time = redis.call('TIME'); local now = time[1] * 1000000 \
                redis.call('DEL', KEYS[1]); redis.call('RPUSH', KEYS[1], 0) \
                for k = 1, 100000 do redis.call('RPUSH', KEYS[1], string.format('%.0f', now - 3600000000 + k), \
                string.format('%.0f', k * 1000000)) end";
    server.command(&["EVAL", fill, "1", "tidegate:1:{k}:p:l:rolling_window"]);
    server.command(&["CONFIG", "RESETSTAT"]);
    for turn in 0..200 {
        let denied = take(&store, &policy, units(1 + turn * 499)).await;
        assert!(!denied.is_allowed());
        assert!(denied.retry_after.unwrap() <= Span::from_secs(86_400));
    }
    let stats = server.command(&["INFO", "commandstats"]);
    let line = stats.lines().find(|line| line.starts_with("cmdstat_evalsha")).unwrap();
    let per_call = line.split("usec_per_call=").nth(1).and_then(|rest| rest.split(',').next());
    let per_call: f64 = per_call.unwrap().parse().unwrap();
    // Reading the log through takes some 20 ms; finding one's way in it takes about 0.2 ms.
    assert!(per_call < 2_000.0, "{line}");
}

/// The scripts' one division that is wider than a double agrees with 128-bit integers.
#[test]
fn wide_division_is_exact() {
    let server = RedisServer::start(&[]);
    let prelude = include_str!("../../src/scripts/prelude.lua");
    let script = format!(
        "{prelude} local replies = {{}} for k = 1, #ARGV, 3 do \
         local whole, cut = mul_div(tonumber(ARGV[k]), tonumber(ARGV[k + 1]), tonumber(ARGV[k + 2])) \
         replies[#replies + 1] = text(whole) .. (cut and '+' or '') end return replies"
    );
    let mut state = 1_u64;
    let mut number = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Numbers of every size, and those next to where doubles end.
        let bits = (state >> 58) % 54;
        let wide = (u128::from(state) << 23) >> (76 - bits);
        u64::try_from(wide).unwrap_or(u64::MAX) % below
    };
    let limit = 1 << 53;
    let mut triples = vec![[limit - 1, limit - 2, limit - 1], [limit - 1, 1 << 51, (1 << 51) + 1]];
    for _ in 0..3_000 {
        let c = number(limit - 1) + 1;
        triples.push([number(limit), number(c + 1), c]);
    }
    for triples in triples.chunks(500) {
        let args: Vec<String> = triples.iter().flatten().map(u64::to_string).collect();
        let mut words = vec!["EVAL", &script, "0"];
        words.extend(args.iter().map(String::as_str));
        let replies = server.command(&words);
        for ([a, b, c], reply) in triples.iter().zip(replies.lines()) {
            let (product, c) = (u128::from(*a) * u128::from(*b), u128::from(*c));
            let cut = if product % c == 0 { "" } else { "+" };
            assert_eq!(reply, format!("{}{cut}", product / c), "{a} * {b} / {c}");
        }
        assert_eq!(replies.lines().count(), triples.len());
    }
}
