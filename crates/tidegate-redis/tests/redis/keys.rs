//! Who shares a state with whom, and under which name.

use tidegate::{Check, Cost, Key, Limit, Policy, Span, Store};

use crate::fixture::{bucket, take_for, with_clock};

fn one_an_hour(policy: &str, limit: &str) -> Policy {
    Policy::new(policy, [Limit::quota(limit, "1/hour").unwrap()]).unwrap()
}

/// P45 (c): parts that read the same when joined are different keys.
#[tokio::test]
async fn keys_that_join_to_one_text_are_independent() {
    let (_server, store, _) = with_clock();
    let policy = one_an_hour("p", "l");
    let keys = ["a:b", "a%3Ab", "a:b:", ":a:b", "a", "{a}", "{a", "a}", "}{", "{}a", "#a", " a"];
    for key in keys {
        assert!(take_for(&store, key, &policy, Cost::ONE).await.is_allowed(), "{key}");
    }
    for key in keys {
        assert!(!take_for(&store, key, &policy, Cost::ONE).await.is_allowed(), "{key}");
    }
}

/// P45 (b), (d): one key under two policies, and under two limits of one policy, is counted apart.
#[tokio::test]
async fn policies_and_limits_are_independent() {
    let (_server, store, _) = with_clock();
    for (policy, limit) in [("a", "b-c"), ("a-b", "c"), ("a", "b"), ("a.b", "c")] {
        let policy = one_an_hour(policy, limit);
        assert!(take_for(&store, "k", &policy, Cost::ONE).await.is_allowed());
        assert!(!take_for(&store, "k", &policy, Cost::ONE).await.is_allowed());
    }
}

/// One limit name with two algorithms never reads the other's state.
#[tokio::test]
async fn another_algorithm_starts_anew() {
    let (_server, store, _) = with_clock();
    let hour = Span::from_secs(3_600);
    let one = Cost::ONE;
    for limit in [
        Limit::quota("l", "1/hour").unwrap(),
        Limit::fixed_window("l", one, hour).unwrap(),
        Limit::rolling_window("l", one, hour).unwrap(),
        Limit::sliding_window("l", one, hour).unwrap(),
    ] {
        let policy = Policy::new("p", [limit]).unwrap();
        assert!(take_for(&store, "k", &policy, one).await.is_allowed());
        assert!(!take_for(&store, "k", &policy, one).await.is_allowed());
    }
}

/// P51: keys of any length and any bytes are distinct, and no name is longer than 256 bytes.
#[tokio::test]
async fn long_keys_are_distinct_and_their_names_short() {
    let (server, store, _) = with_clock();
    let limit = Limit::quota(&"l".repeat(64), "1/hour").unwrap();
    let limit = limit.with_min_interval(Span::from_secs(1)).unwrap();
    let policy = Policy::new(&"p".repeat(64), [limit]).unwrap();
    let mut keys: Vec<Vec<u8>> = [1, 95, 96, 97, 300, 1023, 1024]
        .iter()
        .flat_map(|length| [vec![b'x'; *length], vec![0xff; *length]])
        .collect();
    let mut last_byte = vec![b'x'; 1024];
    last_byte[1023] = b'y';
    keys.push(last_byte);
    for key in &keys {
        let check = Check::take(Key::new(key).unwrap(), &policy, Cost::ONE);
        let verdict = store.take(&[check]).await.unwrap();
        assert!(verdict.is_allowed(), "{} bytes", key.len());
    }
    let names = server.command(&["KEYS", "*"]);
    assert_eq!(names.lines().count(), 2 * keys.len());
    assert!(names.lines().all(|name| name.len() <= 256), "{names}");
}

#[tokio::test]
async fn names_say_whose_state_they_hold() {
    let (server, store, _) = with_clock();
    take_for(&store, "user:7", &bucket("5/s"), Cost::ONE).await;
    assert_eq!(server.command(&["KEYS", "*"]), "tidegate:1:{user%3A7}:p:l:token_bucket");
}
