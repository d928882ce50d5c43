//! Every field that a configuration may hold.

/// Fields at the top.
pub(super) const TOP: &[&str] = &[
    "listen",
    "metrics",
    "store",
    "backends",
    "on_store_error",
    "ready_requires_store",
    "drain_delay",
    "http",
    "policies",
    "use_algo",
    "algo_settings",
];
pub(super) const LISTEN: &[&str] = &["http", "grpc"];
pub(super) const METRICS: &[&str] = &["listen", "use_prometheus", "port"];
pub(super) const BACKENDS: &[&str] = &["in_memory", "redis"];
pub(super) const IN_MEMORY: &[&str] =
    &["max_keys", "overflow", "shards_count", "shards", "default_ttl", "eviction_time"];
pub(super) const REDIS: &[&str] =
    &["addr", "user", "password", "db", "prefix", "timeout", "default_ttl"];
pub(super) const HTTP: &[&str] = &["ratelimit_headers"];
pub(super) const POLICY: &[&str] = &["limits"];
pub(super) const LIMIT: &[&str] = &[
    "name",
    "algorithm",
    "capacity",
    "rate",
    "burst",
    "quota",
    "max_requests",
    "window_size",
    "align",
    "min_interval",
];
/// Fields of the original's `algo_settings`.
pub(super) const ALGO_SETTINGS: &[&str] =
    &["capacity", "rate", "window_size", "max_requests", "min_interval"];

/// Fields that are planned, wherever they stand.
pub(super) const LATER: &[&str] = &[
    "admin",
    "allow",
    "allow_list",
    "block_for",
    "cluster",
    "deny",
    "deny_list",
    "lists",
    "overrides",
    "redis_protocol",
    "reload",
    "rls",
    "sentinel",
    "shadow",
    "tls",
];

/// Every single value outside of `policies`, by its path: what a variable can set.
pub(super) const PATHS: &[&str] = &[
    "algo_settings.capacity",
    "algo_settings.max_requests",
    "algo_settings.min_interval",
    "algo_settings.rate",
    "algo_settings.window_size",
    "backends.in_memory.default_ttl",
    "backends.in_memory.eviction_time",
    "backends.in_memory.max_keys",
    "backends.in_memory.overflow",
    "backends.in_memory.shards",
    "backends.in_memory.shards_count",
    "backends.redis.addr",
    "backends.redis.db",
    "backends.redis.default_ttl",
    "backends.redis.password",
    "backends.redis.prefix",
    "backends.redis.timeout",
    "backends.redis.user",
    "drain_delay",
    "http.ratelimit_headers",
    "listen.grpc",
    "listen.http",
    "metrics.listen",
    "metrics.port",
    "metrics.use_prometheus",
    "on_store_error",
    "ready_requires_store",
    "store",
    "use_algo",
];

/// The name among `known` that was probably meant by `word`.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A text longer than any name is no slip of the pen, and comparing it would take long.
    if word.len() > 80 {
        return None;
    }
    let word = word.to_lowercase();
    let near = |name: &&str| {
        let distance = strsim::osa_distance(&word, &name.to_lowercase());
        distance <= (name.len() / 3).max(1)
    };
    let alike = |name: &&'k str| strsim::osa_distance(&word, &name.to_lowercase());
    known.into_iter().filter(near).min_by_key(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        assert_eq!(nearest("burts", LIMIT.iter().copied()), Some("burst"));
        assert_eq!(nearest("Capacity", LIMIT.iter().copied()), Some("capacity"));
        assert_eq!(nearest("colour", LIMIT.iter().copied()), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), TOP.iter().copied()), None);
    }

    #[test]
    fn every_path_leads_to_a_known_field() {
        for path in PATHS {
            let known = match path.rsplit_once('.') {
                None => TOP,
                Some(("listen", _)) => LISTEN,
                Some(("metrics", _)) => METRICS,
                Some(("http", _)) => HTTP,
                Some(("algo_settings", _)) => ALGO_SETTINGS,
                Some(("backends.in_memory", _)) => IN_MEMORY,
                Some(("backends.redis", _)) => REDIS,
                Some(_) => &[],
            };
            let name = path.rsplit('.').next().unwrap_or_default();
            assert!(known.contains(&name), "{path}");
        }
        let single = |fields: &[&str]| fields.len();
        let below = [LISTEN, METRICS, HTTP, ALGO_SETTINGS, IN_MEMORY, REDIS];
        let at_top = 5; // store, on_store_error, ready_requires_store, drain_delay, use_algo
        let expected = below.into_iter().map(single).sum::<usize>() + at_top;
        assert_eq!(PATHS.len(), expected);
    }
}
