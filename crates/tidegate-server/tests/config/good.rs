//! Configurations that load, and what they mean.

use tidegate::{Amount, Limit, Overflow, Rate, Span};
use tidegate_redis::{RedisConfig, Secret};
use tidegate_server::config::{Environment, Inputs, load, read};
use tidegate_server::explain;
use tidegate_server::settings::{HeaderDialect, Settings, Stance, StoreSettings};

use crate::{default_limit, notes, settings};

const EXAMPLE: &str = include_str!("../../../../tidegate.example.yaml");

/// The defaults, without any file.
fn defaults() -> Settings {
    let directory = "no-such-directory".into();
    load(&Inputs { directory, ..Inputs::default() }).expect("the defaults")
}

/// Everything but the source and the notes.
fn meaning(settings: &Settings) -> String {
    let policies: Vec<_> = settings.policies.iter().collect();
    format!(
        "{:?}",
        (
            (&settings.http, &settings.grpc, &settings.metrics),
            (&settings.store, settings.on_store_error),
            (settings.ready_requires_store, settings.ratelimit_headers),
            (settings.drain_delay, policies),
        )
    )
}

#[test]
fn without_a_file_the_service_runs_by_the_defaults() {
    let settings = defaults();
    assert_eq!(settings.source, "built-in defaults");
    assert_eq!(settings.http.to_string(), "[::]:8080");
    assert_eq!(settings.grpc.to_string(), "[::]:8081");
    assert_eq!(settings.metrics.as_ref().map(ToString::to_string), Some("[::]:9091".into()));
    assert!(matches!(settings.store, StoreSettings::Memory(_)));
    assert_eq!(settings.on_store_error, Stance::Deny);
    assert_eq!(settings.ratelimit_headers, HeaderDialect::Draft11);
    assert_eq!(explain::limit(&default_limit(&settings)), "10 at once, then 1 per second");
}

#[test]
fn the_example_file_says_the_defaults() {
    let example = settings(EXAMPLE);
    assert_eq!(meaning(&example), meaning(&defaults()));
    assert_eq!(notes(&example), "info: backends.redis is not used: store is in_memory\n");
    // The part for Redis means the defaults too.
    let redis = EXAMPLE.replace("store: in_memory", "store: redis");
    let StoreSettings::Redis(redis) = settings(&redis).store else {
        panic!("not Redis");
    };
    assert_eq!(redis, RedisConfig::default());
}

#[test]
fn what_the_example_file_has_commented_out_loads_too() {
    let lines: Vec<String> = EXAMPLE.lines().map(uncommented).collect();
    let environment = Environment::from_iter([("REDIS_PASSWORD", "hunter2")]);
    let (native, flat) = (lines.join("\n"), "use_algo: token_bucket");
    let (native, _) = native.split_once(flat).expect("the older form at the end");
    let settings = read("example", native, &environment, &[]).expect("loads");
    let api = settings.policies.lookup("api").expect("a policy");
    assert_eq!(api.limits().len(), 4);
    let (_, flat) = EXAMPLE.split_once("# use_algo").expect("at the end");
    let flat = format!("use_algo{}", flat.replace("\n# ", "\n"));
    assert_eq!(meaning(&crate::settings(&flat)), meaning(&defaults()));
}

/// A line of the example whose comment is a field, as that field.
fn uncommented(line: &str) -> String {
    let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
    let Some(rest) = rest.strip_prefix("# ") else {
        return line.to_owned();
    };
    let word = rest.trim_start().trim_start_matches("- { ");
    let name = word.split(':').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_field = word.contains(':') && !name.is_empty() && name.chars().all(is_name);
    // Sentences that happen to begin like a field.
    let is_sentence = ["rate", "host"].contains(&name);
    match is_field && !is_sentence {
        true => format!("{indent}{rest}"),
        false => line.to_owned(),
    }
}

#[test]
fn the_original_form_loads_as_it_is() {
    let settings = settings(
        r#"
store: "redis"                # or "in_memory"; env STORE_BACKEND overrides
use_algo: "token_bucket"      # fixed_window | rolling_window | sliding_window
metrics: { use_prometheus: true, port: 9191 }
algo_settings: { capacity: 10, rate: 0.1 }
backends:
  in_memory: { default_ttl: 30, eviction_time: 120, shards_count: 256 }
  redis: { addr: "redis:6379", password: "...", db: 0, default_ttl: 1000 }
"#,
    );
    let StoreSettings::Redis(redis) = &settings.store else {
        panic!("not Redis");
    };
    assert_eq!(redis.address.to_string(), "redis:6379");
    assert_eq!(redis.password.as_ref().map(Secret::reveal), Some("..."));
    assert_eq!(settings.metrics.as_ref().map(|m| m.port), Some(9191));
    let limit = default_limit(&settings);
    let rate = Rate::per(Amount::ONE, Span::from_secs(10)).expect("a rate");
    let expected = Limit::token_bucket("default", Amount::from_units(10), rate);
    assert_eq!(Ok(limit.clone()), expected);
    assert_eq!(explain::limit(&limit), "10 at once, then 1 every 10 s");
    assert_eq!(notes(&settings), "info: backends.in_memory is not used: store is redis\n");
}

#[test]
fn the_original_form_may_hold_settings_of_every_algorithm() {
    let text = |algorithm: &str| {
        format!(
            "store: in_memory\nuse_algo: {algorithm}\nalgo_settings:\n  capacity: 10\n  \
             rate: 0.1\n  window_size: 100\n  max_requests: 20\n  min_interval: 500ms\n"
        )
    };
    for (algorithm, words, unused) in [
        (
            "token_bucket",
            "10 at once, then 1 every 10 s, at least 500 ms apart",
            ["window_size", "max_requests"],
        ),
        (
            "gcra",
            "10 at once, then 1 every 10 s, at least 500 ms apart",
            ["window_size", "max_requests"],
        ),
        (
            "fixed_window",
            "at most 20 per 1 min 40 s, counted from 00:00 UTC, at least 500 ms apart",
            ["capacity", "rate"],
        ),
        (
            "rolling_window",
            "at most 20 in any 1 min 40 s, at least 500 ms apart",
            ["capacity", "rate"],
        ),
        (
            "sliding_log",
            "at most 20 in any 1 min 40 s, at least 500 ms apart",
            ["capacity", "rate"],
        ),
        (
            "sliding_window",
            "at most 20 in 1 min 40 s, estimated from this window and the one before, \
             at least 500 ms apart",
            ["capacity", "rate"],
        ),
    ] {
        let settings = settings(&text(algorithm));
        assert_eq!(explain::limit(&default_limit(&settings)), words);
        for name in unused {
            assert!(notes(&settings).contains(&format!("algo_settings.{name} is not used by")));
        }
    }
}

#[test]
fn the_native_form_loads() {
    let settings = settings(
        r#"
listen: { http: "127.0.0.1:80", grpc: "localhost:81" }
metrics: off
store: in_memory
backends:
  in_memory: { max_keys: 1_000, overflow: deny, shards: 8 }
on_store_error: allow
ready_requires_store: true
drain_delay: 5s
http: { ratelimit_headers: both }
policies:
  api:
    limits:
      - { name: burst, algorithm: token_bucket, capacity: 50, rate: 10/s }
      - { name: daily, algorithm: fixed_window, max_requests: 10000, window_size: 1d }
      - { name: spaced, algorithm: fixed_window, quota: 5/hour, align: first_request,
          min_interval: 0.5 }
"#,
    );
    assert_eq!(settings.http.to_string(), "127.0.0.1:80");
    assert_eq!(settings.grpc.to_string(), "localhost:81");
    assert_eq!(settings.metrics, None);
    let StoreSettings::Memory(memory) = &settings.store else {
        panic!("not in memory");
    };
    assert_eq!(memory.max_keys, 1_000);
    assert_eq!(memory.overflow, Overflow::Deny);
    assert_eq!(memory.shards, Some(8));
    assert_eq!(settings.on_store_error, Stance::Allow);
    assert!(settings.ready_requires_store);
    assert_eq!(settings.drain_delay, Span::from_secs(5));
    assert_eq!(settings.ratelimit_headers, HeaderDialect::Both);
    let api = settings.policies.lookup("api").expect("a policy");
    let words: Vec<String> = api.limits().iter().map(explain::limit).collect();
    assert_eq!(
        words,
        [
            "50 at once, then 10 per second",
            "at most 10000 per UTC day",
            "at most 5 in each 1 h that begins with a first request, at least 500 ms apart",
        ]
    );
    assert!(notes(&settings).contains("every request must name its policy"));
}

/// The words for a limit with this rate and whatever else.
fn words(fields: &str) -> String {
    let text = format!("policies: {{ default: {{ limits: [{{ name: a, {fields} }}] }} }}");
    explain::limit(&default_limit(&settings(&text)))
}

/// P64: "5 per second" is 5 at once and 5 per second; "6 per minute" lets 6 pass at once.
#[test]
fn the_count_of_a_rate_is_its_burst_unless_another_is_given() {
    for (fields, expected) in [
        ("rate: 5 per second", "5 at once, then 5 per second"),
        ("rate: 4000 per second", "4000 at once, then 4000 per second"),
        ("rate: 6 per minute", "6 at once, then 1 every 10 s"),
        ("rate: 100/minute", "100 at once, then 100 per minute"),
        ("rate: \"10/7s burst 20\"", "20 at once, then 10 every 7 s"),
        ("rate: 10/7s, burst: 20", "20 at once, then 10 every 7 s"),
        ("rate: 10/7s, capacity: 2.5", "2.5 at once, then 10 every 7 s"),
        ("quota: 10/7s burst 20", "20 at once, then 10 every 7 s"),
        ("rate: 0.1, burst: 1e3", "1000 at once, then 1 every 10 s"),
        ("rate: 1_000, capacity: 1_000", "1000 at once, then 1000 per second"),
    ] {
        assert_eq!(words(fields), expected, "{fields}");
    }
}

#[test]
fn a_decimal_rate_is_the_fraction_that_was_written() {
    for (text, num, den) in [
        ("0.1", 1, 10),
        ("0.3", 3, 10),
        (".5", 1, 2),
        ("1e-3", 1, 1_000),
        ("0.7", 7, 10),
        ("1000000000", 1_000_000_000, 1),
    ] {
        let settings = settings(&format!("algo_settings: {{ capacity: 10, rate: {text} }}"));
        let tidegate::Algorithm::TokenBucket { rate, .. } = *default_limit(&settings).algorithm()
        else {
            panic!("not a bucket");
        };
        assert_eq!((rate.num(), rate.den()), (num, den), "{text}");
        assert_eq!(notes(&settings), "", "{text}");
    }
}

#[test]
fn a_decimal_rate_that_is_too_fine_is_rounded_and_said() {
    let settings = settings("algo_settings: { capacity: 1000000, rate: 3.14159265358979 }");
    assert_eq!(
        notes(&settings),
        "info: limit default: a rate of 3.14159265358979 per second with a capacity of 1000000 is \
         counted as 355/113 per second, which is 3.1415929203539825\n"
    );
    assert!(explain::settings(&settings).contains("counted as 355/113 per second"));
}

#[test]
fn a_ttl_that_is_shorter_than_a_limit_needs_is_warned_of_once() {
    let text = "store: redis\nbackends: { redis: { default_ttl: 30 } }\npolicies:\n  default:\n    \
                limits:\n      - { name: a, rate: 0.1, capacity: 10 }\n      \
                - { name: b, algorithm: fixed_window, max_requests: 5, window_size: 1h }\n";
    assert_eq!(
        notes(&settings(text)),
        "warn: backends.redis.default_ttl is 30s, but a limit needs its state for 1h; it is kept \
         that long\n"
    );
    let spaced = text.replace("window_size: 1h", "window_size: 1s, min_interval: 2h");
    assert!(notes(&settings(&spaced)).contains("needs its state for 2h;"));
    let long = text.replace("default_ttl: 30", "default_ttl: 3600");
    assert_eq!(notes(&settings(&long)), "");
}

#[test]
fn metrics_are_on_unless_turned_off() {
    for (text, expected) in [
        ("store: in_memory", Some("[::]:9091")),
        ("metrics: { use_prometheus: true }", Some("[::]:9091")),
        ("metrics: { port: 9000 }", Some("[::]:9000")),
        ("metrics: { use_prometheus: false, port: 9091 }", None),
        ("metrics: off", None),
        ("metrics: false", None),
        ("metrics: { listen: off }", None),
        ("metrics: { listen: \"127.0.0.1:1\" }", Some("127.0.0.1:1")),
    ] {
        let metrics = settings(text).metrics.map(|listen| listen.to_string());
        assert_eq!(metrics.as_deref(), expected, "{text}");
    }
}

#[test]
fn aliases_mean_what_they_refer_to() {
    let text = "policies:\n  a: &shared { limits: [{ name: x, rate: 5/s }] }\n  default: *shared\n";
    let settings = settings(text);
    assert_eq!(explain::limit(&default_limit(&settings)), "5 at once, then 5 per second");
}

/// P60: a file of 10 MB loads, nothing in it is dropped, and a fault at its end has its line.
#[test]
fn a_file_of_ten_megabytes_loads() {
    // Comments make up most of it, so that the test is quick without optimisation too.
    let comment = "#".repeat(2_000);
    let mut text = String::from("policies:\n");
    let mut count = 0;
    while text.len() < 10 << 20 {
        let policy = format!("  tenant-{count}: {{ limits: [{{ name: a, rate: 5/s }}] }}");
        text.push_str(&format!("{policy} {comment}\n"));
        count += 1;
    }
    assert_eq!(settings(&text).policies.iter().count(), count);
    text.push_str("  last: { limits: [{ name: a, rates: 5/s }] }\n");
    let place = format!("limits.yaml:{}:31: unknown field `rates`", count + 2);
    let error = crate::errors(&text);
    assert!(error.starts_with(&place), "{error}");
}
