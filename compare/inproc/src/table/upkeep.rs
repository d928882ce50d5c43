//! How long single checks take while the store sweeps, grows, or is flooded with new keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidegate::{Amount, Limit, MemoryConfig, Span};

use crate::contender::{Contender, PacedClock, Quota, Tidegate, fill, token_bucket};
use crate::key::key;
use crate::report::Table;
use crate::settings::{Settings, Time};
use crate::stopwatch::Since;

type Store = Tidegate<Arc<PacedClock>>;

pub(super) fn run(_: &Settings) {
    sweeps();
    growth();
    flood();
}

/// How many checks took how long, in steps of a sixteenth.
#[derive(Clone)]
struct Times(Vec<u64>);

impl Times {
    fn new() -> Times {
        Times(vec![0; 16 * 64])
    }

    fn add(&mut self, took: Duration) {
        let nanos = (took.as_nanos() as u64).max(16);
        let power = nanos.ilog2() as usize;
        self.0[power * 16 + (nanos >> (power - 4) & 15) as usize] += 1;
    }

    fn merge(mut self, other: &Times) -> Times {
        let both = self.0.iter_mut().zip(&other.0);
        both.for_each(|(own, other)| *own += other);
        self
    }

    /// What so many of a million are below, in microseconds; the longest for all of them.
    fn below(&self, millionths: u64) -> String {
        let all: u64 = self.0.iter().sum();
        let wanted = (all * millionths).div_ceil(1_000_000).max(1);
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        let place = place.unwrap_or(0);
        let nanos = (17 + place % 16) as f64 * 2f64.powi(place as i32 / 16 - 4);
        format!("{:.2}", nanos / 1000.0)
    }
}

/// What a row shows, and of how many of a million checks.
const SHARES: [(&str, u64); 5] = [
    ("p50", 500_000),
    ("p99", 990_000),
    ("p99.9", 999_000),
    ("p99.99", 999_900),
    ("longest", 1_000_000),
];

fn print(title: &str, columns: &[&str], times: &[Times]) {
    let head: Vec<&str> = std::iter::once("us per check")
        .chain(columns.iter().copied())
        .collect();
    let mut table = Table::new(title, &head);
    for (name, millionths) in SHARES {
        let cells = times.iter().map(|times| times.below(millionths));
        table.row(std::iter::once(name.to_owned()).chain(cells));
    }
    table.print();
}

/// Asks on so many threads, each check timed, for as long as `meanwhile` takes.
fn ask(threads: usize, check: impl Fn(usize) + Sync, meanwhile: impl FnOnce()) -> Times {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ask = || {
            let mut times = Times::new();
            // Relaxed: nothing else is handed over.
            for number in (0..).take_while(|_| !done.load(Ordering::Relaxed)) {
                let start = Instant::now();
                check(number);
                times.add(start.elapsed());
            }
            times
        };
        let asking: Vec<_> = (0..threads).map(|_| scope.spawn(ask)).collect();
        meanwhile();
        done.store(true, Ordering::Relaxed);
        let times = asking
            .into_iter()
            .map(|thread| thread.join().expect("a thread that asks"));
        times.fold(Times::new(), |sum, times| sum.merge(&times))
    })
}

/// Eight threads on hot keys through five sweeps, which drop half of five million keys.
fn sweeps() {
    const KEYS: usize = 5_000_000;
    let hot: Vec<String> = (0..16).map(|number| format!("hot:{number}")).collect();
    let clock = PacedClock::new();
    let window = |seconds| {
        let limit = Limit::fixed_window_from_first(
            "w",
            Amount::from_units(2_000_000_000),
            Span::from_secs(seconds),
        );
        vec![limit.expect("the limit of a bench is valid")]
    };
    let store = Tidegate::paced(MemoryConfig::default(), &clock, window(60));
    // The second half comes half a minute later, and stays when the first is over.
    fill(&store, KEYS / 2);
    clock.advance(Span::from_secs(30));
    (KEYS / 2..KEYS).for_each(|number| {
        store.check(&key(number));
    });
    let check = |number: usize| {
        store.check(&hot[number % hot.len()]);
    };
    let second = || std::thread::sleep(Duration::from_secs(1));
    let quiet = ask(8, check, || (0..5).for_each(|_| second()));
    clock.advance(Span::from_secs(29));
    let sweeping = ask(8, check, || {
        (0..5).for_each(|step| {
            if step == 1 {
                clock.advance(Span::from_secs(2));
            }
            store.store().sweep();
            second();
        });
    });
    let machine = ask(8, |_| (), || (0..5).for_each(|_| second()));
    let title =
        "Sweeps: 8 threads on 16 hot keys beside 5M, of which half expires: `inproc upkeep`";
    print(
        title,
        &["during five sweeps", "no sweep", "no store"],
        &[sweeping, quiet, machine],
    );
}

fn bucket(max_keys: usize) -> Store {
    let config = MemoryConfig {
        max_keys,
        ..MemoryConfig::default()
    };
    let quota = Quota {
        burst: 100,
        period: 36,
    };
    Tidegate::paced(config, &PacedClock::new(), [token_bucket(quota)])
}

/// One thread that brings new keys, a hundred thousand at a time. Its processor time is what counts: a
/// shared machine takes the processor away for longer than any insertion.
fn growth() {
    let store = bucket(10_000_000);
    let columns = ["live keys", "ns per new key", "p99 us", "longest us"];
    let title = "Growth from 100k to 1M keys, processor time: `inproc upkeep`";
    let mut table = Table::new(title, &columns);
    fill(&store, 100_000);
    for from in (100_000..1_000_000).step_by(100_000) {
        let names: Vec<String> = (from..from + 100_000).map(key).collect();
        let (untimed, timed) = names.split_at(names.len() / 2);
        let start = Since::now(Time::Processor);
        for name in untimed {
            store.check(name);
        }
        let each = start.elapsed().as_secs_f64() * 1e9 / untimed.len() as f64;
        let mut times = Times::new();
        for name in timed {
            let start = Since::now(Time::Processor);
            store.check(name);
            times.add(start.elapsed());
        }
        table.row([
            format!("{}k to {}k", from / 1_000, from / 1_000 + 100),
            format!("{each:.0}"),
            times.below(990_000),
            times.below(1_000_000),
        ]);
    }
    table.print();
}

/// One thread on known keys while another brings fifty thousand new ones a second to a full store.
fn flood() {
    const MAX_KEYS: usize = 100_000;
    let store = bucket(MAX_KEYS);
    fill(&store, MAX_KEYS);
    let names: Vec<String> = (0..1_000).map(key).collect();
    let check = |number: usize| {
        store.check(&names[number % names.len()]);
    };
    let five_seconds = |each: &dyn Fn(usize)| {
        let start = Instant::now();
        for part in 0..500 {
            each(part);
            let next = Duration::from_millis(10 * (part as u64 + 1));
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
    };
    let quiet = ask(1, check, || five_seconds(&|_| ()));
    let flooded = ask(1, check, || {
        five_seconds(&|part| {
            (0..500).for_each(|number| {
                store.check(&key(MAX_KEYS + part * 500 + number));
            });
        });
    });
    let title = "Known keys while 50k new ones a second come to a full store: `inproc upkeep`";
    print(title, &["during the flood", "no flood"], &[flooded, quiet]);
}
