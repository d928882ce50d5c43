//! Exact totals under concurrency, in memory and on Redis with several processes sharing it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate_testkit::RedisServer;

use crate::client::{Counts, send_all};
use crate::process::Service;

/// A real web server's log.
const LOG: &str = include_str!("../data/access.log");

/// Waits when UTC midnight is near, so that a test's requests fall into one day.
pub(crate) fn away_from_midnight() {
    const DAY: u64 = 86_400;
    const MARGIN: u64 = 120;
    #[allow(clippy::disallowed_methods, reason = "the service under test runs by wall time")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let left = DAY - now % DAY;
    if left < MARGIN {
        std::thread::sleep(Duration::from_secs(left + 1));
    }
}

/// The address of each line of the log.
pub(crate) fn addresses() -> Vec<&'static str> {
    let first = |line: &'static str| line.split(' ').next().unwrap_or_default();
    let addresses: Vec<&str> = LOG.lines().map(first).collect();
    assert_eq!(addresses.len(), 4_525, "the log is whole");
    addresses
}

pub(crate) fn memory(policy: &str) -> String {
    format!("store: in_memory\n{policy}")
}

pub(crate) fn redis(server: &RedisServer, policy: &str) -> String {
    format!(
        "store: redis\nbackends: {{ redis: {{ addr: \"127.0.0.1:{}\", timeout: 5s }} }}\n{policy}",
        server.port()
    )
}

pub(crate) const FIFTY_A_DAY: &str = "policies:\n  default:\n    limits:\n      \
    - { name: daily, algorithm: fixed_window, max_requests: 50, window_size: 1d }\n";

fn thousand(algorithm: &str) -> String {
    format!(
        "policies:\n  default:\n    limits:\n      \
         - {{ name: daily, algorithm: {algorithm}, max_requests: 1000, window_size: 1d }}\n"
    )
}

/// The expected totals of the log against 50 a day and address, all on one day.
pub(crate) const LOG_TOTALS: Counts = Counts { allowed: 3_987, denied: 538, other: 0 };

#[test]
fn a_real_log_through_rest_is_counted_exactly_in_memory() {
    away_from_midnight();
    let service = Service::start(&memory(FIFTY_A_DAY));
    assert_eq!(send_all(&[service.http], 32, &addresses()), LOG_TOTALS);
}

#[test]
fn a_real_log_through_rest_is_counted_exactly_by_three_processes_on_redis() {
    away_from_midnight();
    let server = RedisServer::start(&[]);
    let fleet = Service::fleet(&redis(&server, FIFTY_A_DAY), 3);
    let ports: Vec<u16> = fleet.iter().map(|service| service.http).collect();
    assert_eq!(send_all(&ports, 32, &addresses()), LOG_TOTALS);
}

/// P10: 64 clients race for one key, 20 times over; the key is created by the race itself.
fn race(ports: &[u16]) {
    away_from_midnight();
    for run in 0..20 {
        let key = format!("race-{run}");
        let keys = vec![key.as_str(); 2_000];
        assert_eq!(send_all(ports, 64, &keys), Counts::of(1_000, 1_000), "run {run}");
    }
}

#[test]
fn sixty_four_clients_on_one_key_get_exactly_its_limit_in_memory() {
    for algorithm in ["fixed_window", "rolling_window"] {
        let service = Service::start(&memory(&thousand(algorithm)));
        race(&[service.http]);
    }
}

#[test]
fn sixty_four_clients_on_one_key_get_exactly_its_limit_of_three_processes_on_redis() {
    let server = RedisServer::start(&[]);
    for algorithm in ["fixed_window", "rolling_window"] {
        let fleet = Service::fleet(&redis(&server, &thousand(algorithm)), 3);
        let ports: Vec<u16> = fleet.iter().map(|service| service.http).collect();
        race(&ports);
    }
}
