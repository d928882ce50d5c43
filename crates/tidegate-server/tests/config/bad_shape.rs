//! Files that are refused for their shape, and what is said about them.

use crate::{errors, refused};

const SYNTAX: &[(&str, &str)] = &[
    (
        "store: [redis
",
        "limits.yaml:1:8: this is not YAML: unclosed bracket '['
1 | store: [redis
  |        ^
",
    ),
    (
        "",
        "limits.yaml:1:1: the file is empty
1 | 
  | ^
  = start from tidegate.example.yaml, or name no file to run with the defaults
",
    ),
    (
        "# nothing but a comment
",
        "limits.yaml:1:1: the file is empty
1 | # nothing but a comment
  | ^
  = start from tidegate.example.yaml, or name no file to run with the defaults
",
    ),
    (
        "~
",
        "limits.yaml:1:1: the file is empty
1 | ~
  | ^
  = start from tidegate.example.yaml, or name no file to run with the defaults
",
    ),
    (
        "- a list
",
        "limits.yaml:1:1: a configuration must hold fields
1 | - a list
  | ^
  = write it like `listen: ...` on lines below, indented
",
    ),
    (
        "store: redis
metrics: off
store: in_memory
",
        "limits.yaml:3:1: `store` is given twice
3 | store: in_memory
  | ^^^^^
  = remove one of the two
",
    ),
    (
        "policies:
  api: { limits: [{ name: a, rate: 5/s }] }
  api: { limits: [{ name: a, rate: 9/s }] }
",
        "limits.yaml:3:3: `api` is given twice
3 |   api: { limits: [{ name: a, rate: 9/s }] }
  |   ^^^
  = remove one of the two
",
    ),
    (
        "listen: { http: [::]:80 }
",
        "limits.yaml:1:21: this is not YAML: while parsing a flow mapping, did not find expected ',' or '}'
1 | listen: { http: [::]:80 }
  |                     ^
",
    ),
    (
        "store: !!str redis
",
        "limits.yaml:1:14: tags (!name) are not supported
1 | store: !!str redis
  |              ^^^^^
  = write the plain value
",
    ),
    (
        "a: &a [*a]
",
        "limits.yaml:1:8: this alias stands inside of what it refers to
1 | a: &a [*a]
  |        ^^
  = write the value out
",
    ),
    (
        "base: &b { x: 1 }
policies: { <<: *b }
",
        "limits.yaml:2:13: merge keys (<<) are not supported
2 | policies: { <<: *b }
  |             ^^
  = write the fields out, or refer to the whole value with an alias (*name)
",
    ),
    (
        "store: redis
---
store: in_memory
",
        "limits.yaml:2:1: a second document begins here
2 | ---
  | ^^^
  = one file holds one configuration: remove the ---
",
    ),
    (
        "? [a]
: b
",
        "limits.yaml:1:3: a field's name must be a word
1 | ? [a]
  |   ^
  = write it like `name: value`; text that begins with [ or { needs quotes
",
    ),
    (
        "store:\tredis\n\tx: y\n",
        "limits.yaml:1:8: this is not YAML: while scanning a plain scalar, found a tab\n1 | store: redis\n  |        ^\n",
    ),
];

/// P60: what is no YAML, empty, twice there or beyond one document is refused where it stands.
#[test]
fn a_text_that_is_no_configuration_is_refused() {
    refused(SYNTAX);
}

const FIELDS: &[(&str, &str)] = &[
    (
        "policies: { api: { limit: [] } }
",
        "limits.yaml:1:20: unknown field `limit`
1 | policies: { api: { limit: [] } }
  |                    ^^^^^
  = did you mean `limits`? known here: limits

limits.yaml:1:13: policy api has no limits
1 | policies: { api: { limit: [] } }
  |             ^^^
  = add limits:, and below it - { name: burst, algorithm: token_bucket, capacity: 50, rate: 10/s }
",
    ),
    (
        r#"overrides: {}
listen: { redis_protocol: ":6379", htpp: ":1" }
policies: { api: { shadow: true, limits: [{ name: a, rate: 5/s, block_for: 1h }] } }
"#,
        r#"limits.yaml:1:1: `overrides` is not supported yet
1 | overrides: {}
  | ^^^^^^^^^
  = remove it

limits.yaml:2:11: `redis_protocol` is not supported yet
2 | listen: { redis_protocol: ":6379", htpp: ":1" }
  |           ^^^^^^^^^^^^^^
  = remove it

limits.yaml:2:36: unknown field `htpp`
2 | listen: { redis_protocol: ":6379", htpp: ":1" }
  |                                    ^^^^
  = did you mean `http`? known here: http, grpc

limits.yaml:3:20: `shadow` is not supported yet
3 | policies: { api: { shadow: true, limits: [{ name: a, rate: 5/s, block_for: 1h }] } }
  |                    ^^^^^^
  = remove it

limits.yaml:3:65: `block_for` is not supported yet
3 | policies: { api: { shadow: true, limits: [{ name: a, rate: 5/s, block_for: 1h }] } }
  |                                                                 ^^^^^^^^^
  = remove it
"#,
    ),
];

/// P60: no field is dropped silently: a slip of the pen is named, and so is what is planned.
#[test]
fn an_unknown_field_is_refused_with_a_suggestion() {
    refused(FIELDS);
}

const POLICIES: &[(&str, &str)] = &[
    (
        r#"policies:
  api:
    limits:
      - { name: a, rate: 5/s, burts: 9 }
      - { name: a, rate: 5/s }
      - { name: a, rate: 5/s }
      - { rate: 5/s }
      - { name: "a b", rate: 5/s }
"#,
        r#"limits.yaml:4:31: unknown field `burts`
4 |       - { name: a, rate: 5/s, burts: 9 }
  |                               ^^^^^
  = did you mean `burst`? known here: name, algorithm, capacity, rate, burst, quota, max_requests, window_size, align, min_interval

limits.yaml:5:17: policy api has two limits named a
5 |       - { name: a, rate: 5/s }
  |                 ^
  = the first is on line 4; give each its own name

limits.yaml:6:17: policy api has two limits named a
6 |       - { name: a, rate: 5/s }
  |                 ^
  = the first is on line 5; give each its own name

limits.yaml:7:9: a limit has no `name`
7 |       - { rate: 5/s }
  |         ^
  = add one, such as name: burst

limits.yaml:8:17: "a b" is no name; use 1 to 64 of A-Z a-z 0-9 _ . -
8 |       - { name: "a b", rate: 5/s }
  |                 ^^^^^
"#,
    ),
    (
        "use_algo: token_bucket
algo_settings: { capacity: 10, rate: 1 }
policies: { default: { limits: [{ name: a, rate: 5/s }] } }
",
        "limits.yaml:1:1: the policy `default` is given twice: here and in `policies`
1 | use_algo: token_bucket
  | ^^^^^^^^
  = keep one of the two
",
    ),
    (
        "policies:
",
        "limits.yaml:1:9: policies is empty
1 | policies:
  |         ^
  = give it a value or remove it
",
    ),
    (
        "policies: {}
",
        "limits.yaml:1:11: policies is empty
1 | policies: {}
  |           ^
  = add a policy or remove it
",
    ),
    (
        "policies: { api: { limits: [] } }
",
        "limits.yaml:1:28: policy api has 0 limits; it must have 1 to 16
1 | policies: { api: { limits: [] } }
  |                            ^
",
    ),
    (
        "policies: { api: {} }
",
        "limits.yaml:1:13: policy api has no limits
1 | policies: { api: {} }
  |             ^^^
  = add limits:, and below it - { name: burst, algorithm: token_bucket, capacity: 50, rate: 10/s }
",
    ),
    (
        r#"policies: { "a b": { limits: [{ name: a, rate: 5/s }] } }
"#,
        r#"limits.yaml:1:13: "a b" is no name; use 1 to 64 of A-Z a-z 0-9 _ . -
1 | policies: { "a b": { limits: [{ name: a, rate: 5/s }] } }
  |             ^^^^^
"#,
    ),
    (
        "policies: { api: { limits: { name: a, rate: 5/s } } }
",
        "limits.yaml:1:28: limits must be a list
1 | policies: { api: { limits: { name: a, rate: 5/s } } }
  |                            ^
  = write it like `- { name: burst, algorithm: token_bucket, capacity: 50, rate: 10/s }`
",
    ),
];

/// P60: a policy without limits, or with names given twice, is refused.
#[test]
fn a_policy_that_says_too_little_or_too_much_is_refused() {
    refused(POLICIES);
}

const SECTIONS: &[(&str, &str)] = &[
    (
        "on_store_error: local
",
        "limits.yaml:1:17: on_store_error: `local` is not supported yet
1 | on_store_error: local
  |                 ^^^^^
  = use deny or allow
",
    ),
    (
        "drain_delay: 2h
",
        "limits.yaml:1:14: drain_delay is longer than an hour
1 | drain_delay: 2h
  |              ^^
  = so long, no request is on its way any more; usual are 5s to 30s
",
    ),
    (
        "on_store_error: open
ready_requires_store: yes
drain_delay: -1
http: { ratelimit_headers: draft7 }
",
        "limits.yaml:1:17: on_store_error cannot be `open`
1 | on_store_error: open
  |                 ^^^^
  = it is one of: deny, allow

limits.yaml:2:23: ready_requires_store cannot be `yes`
2 | ready_requires_store: yes
  |                       ^^^
  = it is one of: true, false

limits.yaml:3:14: drain_delay: a length of time cannot be negative
3 | drain_delay: -1
  |              ^^

limits.yaml:4:28: ratelimit_headers cannot be `draft7`
4 | http: { ratelimit_headers: draft7 }
  |                            ^^^^^^
  = did you mean `draft11`? it is one of: draft11, legacy, both, off
",
    ),
    (
        "backends: { in_memory: { shards_count: 100, max_keys: 0, overflow: 5 } }
",
        "limits.yaml:1:55: max_keys must be a whole number from 1 to 72057594037927935
1 | backends: { in_memory: { shards_count: 100, max_keys: 0, overflow: 5 } }
  |                                                       ^
",
    ),
    (
        "backends: { in_memory: { shards_count: 100, max_keys: 10 } }
",
        "limits.yaml:1:40: shards_count must be a power of two, not 100
1 | backends: { in_memory: { shards_count: 100, max_keys: 10 } }
  |                                        ^^^
  = write 64 or 128
",
    ),
    (
        "backends: { in_memory: { shards_count: 8, shards: 8 } }
",
        "limits.yaml:1:51: `shards` and `shards_count` are the same; keep one
1 | backends: { in_memory: { shards_count: 8, shards: 8 } }
  |                                                   ^
",
    ),
    (
        r#"backends: { redis: { db: -1, prefix: "a{b}", timeout: 0 } }
"#,
        r#"limits.yaml:1:26: db must be a whole number from 0 to 4294967295
1 | backends: { redis: { db: -1, prefix: "a{b}", timeout: 0 } }
  |                          ^^
"#,
    ),
    (
        r#"backends: { redis: { prefix: "a{b}" } }
"#,
        r#"limits.yaml:1:30: prefix must be 1 to 64 of A-Z a-z 0-9 _ . : -
1 | backends: { redis: { prefix: "a{b}" } }
  |                              ^^^^^^
"#,
    ),
    (
        "backends: { redis: { timeout: 500 } }
",
        "limits.yaml:1:31: timeout is 8min 20s; it must be 1ms to 1min
1 | backends: { redis: { timeout: 500 } }
  |                               ^^^
  = a bare number is seconds; write it like 50ms
",
    ),
    (
        r#"backends: { redis: { addr: "rediss://host" } }
"#,
        r#"limits.yaml:1:28: addr: TLS (rediss://) is not supported yet; use redis://
1 | backends: { redis: { addr: "rediss://host" } }
  |                            ^^^^^^^^^^^^^^^
"#,
    ),
    (
        r#"backends: { redis: { addr: "redis://host/3", db: 0 } }
"#,
        r#"limits.yaml:1:50: `db` is given here and in `addr`; keep one
1 | backends: { redis: { addr: "redis://host/3", db: 0 } }
  |                                                  ^
"#,
    ),
    (
        r#"listen: { http: "[::]:80", grpc: "[::]:80" }
"#,
        r#"limits.yaml:1:1: http and gRPC would both listen on [::]:80
1 | listen: { http: "[::]:80", grpc: "[::]:80" }
  | ^^^^^^
  = give each its own port
"#,
    ),
    (
        r#"metrics: { port: 9000 }
listen: { http: "[::]:80", grpc: "[::]:80" }
"#,
        r#"limits.yaml:2:1: http and gRPC would both listen on [::]:80
2 | listen: { http: "[::]:80", grpc: "[::]:80" }
  | ^^^^^^
  = give each its own port
"#,
    ),
    (
        r#"listen: { http: "[::]:65536" }
"#,
        r#"limits.yaml:1:17: listen.http: the port must be a number from 0 to 65535
1 | listen: { http: "[::]:65536" }
  |                 ^^^^^^^^^^^^
  = write it like "[::]:8080" or 127.0.0.1:8080
"#,
    ),
    (
        r#"metrics: { listen: ":1", port: 1 }
"#,
        r#"limits.yaml:1:12: metrics has both `listen` and `port`
1 | metrics: { listen: ":1", port: 1 }
  |            ^^^^^^
  = remove one of the two
"#,
    ),
    (
        r#"metrics: { port: "9091" }
"#,
        r#"limits.yaml:1:18: metrics.port must be a number, not text
1 | metrics: { port: "9091" }
  |                  ^^^^^^
  = write 9091 without quotes
"#,
    ),
    (
        "metrics:
",
        "limits.yaml:1:8: metrics is empty
1 | metrics:
  |        ^
  = give it a value or remove it
",
    ),
    (
        "listen: 5
",
        "limits.yaml:1:9: listen must hold fields
1 | listen: 5
  |         ^
  = write it like `http: ...` on lines below, indented
",
    ),
];

#[test]
fn a_section_that_makes_no_sense_is_refused() {
    refused(SECTIONS);
}

#[test]
fn of_many_faults_the_first_are_shown_and_the_rest_counted() {
    let limits = "- { name: a }\n".repeat(16).replace("- ", "      - ");
    let policy = |name: &str| format!("  {name}:\n    limits:\n{limits}");
    let shown = errors(&format!("policies:\n{}{}", policy("a"), policy("b")));
    assert_eq!(shown.matches("limits.yaml:").count(), 20);
    assert!(shown.ends_with("\nand 12 more like these\n"), "{shown}");
}

/// A file of nothing but faults is not read to its end.
#[test]
fn after_a_thousand_faults_no_more_are_looked_for() {
    let unknown: String = (0..5_000).map(|field| format!("x{field}: 1, ")).collect();
    let policies: String =
        (0..5_000).map(|name| format!("p{name}: {{ limits: [{{ name: a }}] }}, ")).collect();
    for text in [format!("{{ {unknown} }}"), format!("policies: {{ {policies} }}")] {
        let shown = errors(&text);
        assert!(shown.ends_with("\nand at least 980 more like these\n"), "{shown}");
    }
}
