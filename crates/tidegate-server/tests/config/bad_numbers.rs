//! Limits that are refused for their numbers, and what is said about them.

use crate::refused;

const WORDS: &[(&str, &str)] = &[
    (
        r#"policies:
  api:
    limits:
      - { name: a, rate: 10/parsec }
      - { name: b, algorithm: fixed_window, max_requests: 5, window_size: 1 fortnight }
      - { name: c, rate: -1, capacity: 5 }
      - { name: d, rate: 5, capacity: -5 }
      - { name: e, algorithm: fixed_window, max_requests: -5, window_size: -1d }
      - { name: f, algorithm: fixed_window, max_requests: "10", window_size: 1d }
      - { name: g, algorithm: fixed_window, max_requests: many, window_size: 1d }
      - { name: h, algorithm: fixed_window, max_requests: [1], window_size: 1d }
"#,
        r#"limits.yaml:4:26: rate: "10/parsec" is no rate; write it like 100/minute, 5 per second or 10/7s burst 20
4 |       - { name: a, rate: 10/parsec }
  |                          ^^^^^^^^^

limits.yaml:5:75: window_size: "1 fortnight" is no length of time; write it like 500ms, 30s, 5min, 1h or 1d
5 |       - { name: b, algorithm: fixed_window, max_requests: 5, window_size: 1 fortnight }
  |                                                                           ^^^^^^^^^^^

limits.yaml:6:26: rate is negative; it must be above 0
6 |       - { name: c, rate: -1, capacity: 5 }
  |                          ^^

limits.yaml:7:39: capacity is negative; it must be above 0
7 |       - { name: d, rate: 5, capacity: -5 }
  |                                       ^^

limits.yaml:8:59: max_requests is negative; it must be above 0
8 |       - { name: e, algorithm: fixed_window, max_requests: -5, window_size: -1d }
  |                                                           ^^

limits.yaml:8:76: window_size: a length of time cannot be negative
8 |       - { name: e, algorithm: fixed_window, max_requests: -5, window_size: -1d }
  |                                                                            ^^^

limits.yaml:9:59: max_requests must be a number, not text
9 |       - { name: f, algorithm: fixed_window, max_requests: "10", window_size: 1d }
  |                                                           ^^^^
  = write 10 without quotes

limits.yaml:10:59: max_requests is not a decimal number; write it like 1, 2.5 or 1e3
10 |       - { name: g, algorithm: fixed_window, max_requests: many, window_size: 1d }
   |                                                           ^^^^

limits.yaml:11:59: max_requests must be a number, not a list or fields
11 |       - { name: h, algorithm: fixed_window, max_requests: [1], window_size: 1d }
   |                                                           ^
"#,
    ),
    (
        r#"algo_settings: { capacity: 10, rate: "0.1" }
"#,
        r#"limits.yaml:1:38: rate must be a number, not text
1 | algo_settings: { capacity: 10, rate: "0.1" }
  |                                      ^^^^^
  = write 0.1 without quotes, or with a period: 0.1/s
"#,
    ),
];

/// P60: an unknown unit, a negative number, a text for a number.
#[test]
fn what_is_no_number_is_refused() {
    refused(WORDS);
}

const ZEROS: &[(&str, &str)] = &[
    (
        "algo_settings: { capacity: 0, rate: 0 }
",
        "limits.yaml:1:28: capacity is zero; it must be above 0
1 | algo_settings: { capacity: 0, rate: 0 }
  |                            ^

limits.yaml:1:37: rate is zero; it must be above 0
1 | algo_settings: { capacity: 0, rate: 0 }
  |                                     ^
",
    ),
    (
        "use_algo: fixed_window
algo_settings: { max_requests: 0, window_size: 0 }
",
        "limits.yaml:2:32: max_requests is zero; it must be above 0
2 | algo_settings: { max_requests: 0, window_size: 0 }
  |                                ^

limits.yaml:2:48: window_size is zero; it must be above 0
2 | algo_settings: { max_requests: 0, window_size: 0 }
  |                                                ^
",
    ),
    (
        "algo_settings: { capacity: .nan, rate: .inf }
",
        "limits.yaml:1:28: capacity is not a finite number
1 | algo_settings: { capacity: .nan, rate: .inf }
  |                            ^^^^

limits.yaml:1:40: rate is not a finite number
1 | algo_settings: { capacity: .nan, rate: .inf }
  |                                        ^^^^
",
    ),
];

/// P32: zero, NaN and infinity mean nothing and are refused.
#[test]
fn zero_and_infinity_are_refused() {
    refused(ZEROS);
}

const RANGES: &[(&str, &str)] = &[
    (
        "algo_settings: { capacity: 10, rate: 1e-30 }
",
        "limits.yaml:1:38: rate is too slow; the slowest is 1 per year
1 | algo_settings: { capacity: 10, rate: 1e-30 }
  |                                      ^^^^^
",
    ),
    (
        "algo_settings: { capacity: 10, rate: 2e9 }
",
        "limits.yaml:1:38: a rate of 2000000000 per 1s is too fast; the fastest is 1000000000 per second
1 | algo_settings: { capacity: 10, rate: 2e9 }
  |                                      ^^^
",
    ),
    (
        "algo_settings: { capacity: 10, rate: 0.00000001 }
",
        "limits.yaml:1:38: a rate of 1 per 1157d 9h 46min 40s is too slow; the slowest is 1 per year
1 | algo_settings: { capacity: 10, rate: 0.00000001 }
  |                                      ^^^^^^^^^^
",
    ),
    (
        "algo_settings: { capacity: 4000000000, rate: 0.1 }
",
        "limits.yaml:1:46: capacity 4000000000 at 6 per 1min cannot be counted exactly: 2 x capacity x 10 (the rate's denominator) reaches 2^53 millionths; use a smaller capacity or a rounder rate
1 | algo_settings: { capacity: 4000000000, rate: 0.1 }
  |                                              ^^^
",
    ),
    (
        "algo_settings: { capacity: 1000000, rate: 7/year }
",
        "limits.yaml:1:43: capacity 1000000 at 7 per 365d cannot be counted exactly: 2 x capacity x 31536000 (the rate's denominator) reaches 2^53 millionths; use a smaller capacity or a rounder rate
1 | algo_settings: { capacity: 1000000, rate: 7/year }
  |                                           ^^^^^^
",
    ),
    (
        "use_algo: rolling_window
algo_settings: { max_requests: 5000000000, window_size: 0.0001 }
",
        "limits.yaml:2:57: 100us is no window; use 1 ms to 3650 days, in whole microseconds
2 | algo_settings: { max_requests: 5000000000, window_size: 0.0001 }
  |                                                         ^^^^^^
",
    ),
    (
        "use_algo: rolling_window
algo_settings: { max_requests: 5, window_size: 11 years }
",
        "limits.yaml:2:48: 4015d is no window; use 1 ms to 3650 days, in whole microseconds
2 | algo_settings: { max_requests: 5, window_size: 11 years }
  |                                                ^^^^^^^^
",
    ),
    (
        "policies: { api: { limits: [{ name: a, rate: 5/s, min_interval: 0.0001 }] } }
",
        "limits.yaml:1:65: min_interval cannot be 100us; use 1 ms to 3650 days, in whole microseconds
1 | policies: { api: { limits: [{ name: a, rate: 5/s, min_interval: 0.0001 }] } }
  |                                                                 ^^^^^^
",
    ),
];

/// P33: a rate that cannot be represented is refused at load, with the reason.
#[test]
fn a_number_that_cannot_be_counted_exactly_is_refused_with_the_reason() {
    refused(RANGES);
}

const CHOICES: &[(&str, &str)] = &[
    (
        "use_algo: token_buckets
algo_settings: { capacity: 10, rate: 1 }
",
        "limits.yaml:1:11: use_algo cannot be `token_buckets`
1 | use_algo: token_buckets
  |           ^^^^^^^^^^^^^
  = did you mean `token_bucket`? it is one of: token_bucket, fixed_window, rolling_window, sliding_window, gcra, sliding_log
",
    ),
    (
        "use_algo: sliding_window
",
        "limits.yaml:1:1: `algo_settings` is missing
1 | use_algo: sliding_window
  | ^^^^^^^^
  = sliding_window needs max_requests and window_size in it
",
    ),
    (
        "algo_settings: { capacity: 10 }
",
        "limits.yaml:1:16: `rate` is missing
1 | algo_settings: { capacity: 10 }
  |                ^
  = add it, such as rate: 0.1 or 100/minute
",
    ),
    (
        "algo_settings: { rate: 10 }
",
        "limits.yaml:1:16: `capacity` is missing
1 | algo_settings: { rate: 10 }
  |                ^
  = add it, such as capacity: 10
",
    ),
    (
        "policies: { api: { limits: [{ name: a, max_requests: 5, window_size: 5 }] } }
",
        "limits.yaml:1:40: token_bucket has no `max_requests`
1 | policies: { api: { limits: [{ name: a, max_requests: 5, window_size: 5 }] } }
  |                                        ^^^^^^^^^^^^
  = add algorithm: fixed_window, rolling_window or sliding_window

limits.yaml:1:57: token_bucket has no `window_size`
1 | policies: { api: { limits: [{ name: a, max_requests: 5, window_size: 5 }] } }
  |                                                         ^^^^^^^^^^^
  = add algorithm: fixed_window, rolling_window or sliding_window
",
    ),
    (
        "policies: { api: { limits: [{ name: a, algorithm: fixed_window, max_requests: 5, window_size: 5, burst: 5 }] } }
",
        "limits.yaml:1:98: fixed_window has no `burst`
1 | policies: { api: { limits: [{ name: a, algorithm: fixed_window, max_requests: 5, window_size: 5, burst: 5 }] } }
  |                                                                                                  ^^^^^
  = fixed_window takes: max_requests, window_size, quota, align
",
    ),
    (
        "policies: { api: { limits: [{ name: a, rate: 5/s burst 9, burst: 5 }] } }
",
        "limits.yaml:1:46: burst is given twice: in `rate` and in a field
1 | policies: { api: { limits: [{ name: a, rate: 5/s burst 9, burst: 5 }] } }
  |                                              ^^^^^^^^^^^
",
    ),
    (
        "policies: { api: { limits: [{ name: a, quota: 5/s, rate: 5 }] } }
",
        "limits.yaml:1:52: `quota` says this already; keep one of the two
1 | policies: { api: { limits: [{ name: a, quota: 5/s, rate: 5 }] } }
  |                                                    ^^^^
",
    ),
    (
        "policies: { api: { limits: [{ name: a, rate: 5/s, capacity: 1, burst: 2 }] } }
",
        "limits.yaml:1:71: `burst` and `capacity` are the same; keep one
1 | policies: { api: { limits: [{ name: a, rate: 5/s, capacity: 1, burst: 2 }] } }
  |                                                                       ^
",
    ),
];

#[test]
fn numbers_that_are_missing_or_given_twice_are_refused() {
    refused(CHOICES);
}
