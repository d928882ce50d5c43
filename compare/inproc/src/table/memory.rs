//! Bytes per key and allocations per check, counted by the allocator of the binary that asks.

use tidegate::{Amount, Limit, LimitError, MemoryConfig, Span};

use super::count;
use crate::contender::{
    Contender, Governor, Limitador, PacedClock, Quota, Throttlecrab, Tidegate, fill, token_bucket,
};
use crate::key::{key, long_key};
use crate::report::{Table, verdict};

/// What an allocator counted since the process began.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Calls that gave memory.
    pub allocations: u64,
    /// Bytes given and not yet taken back.
    pub live_bytes: u64,
}

/// How an allocator is asked.
pub type Count = fn() -> Counted;

const WINDOW: Span = Span::from_secs(3600);

/// Prints the table, given the allocator's counts.
pub fn run(counted: Count) {
    per_key(counted);
    per_check(counted);
}

fn ours(limits: Result<Vec<Limit>, LimitError>) -> Box<dyn Contender> {
    let limits = limits.expect("the limits of a bench are valid");
    Box::new(Tidegate::paced(
        MemoryConfig::default(),
        &PacedClock::new(),
        limits,
    ))
}

fn bucket() -> Box<dyn Contender> {
    ours(Ok(vec![token_bucket(Quota::ROOMY)]))
}

fn fixed() -> Box<dyn Contender> {
    ours(Limit::fixed_window("fixed", Amount::from_units(100), WINDOW).map(|limit| vec![limit]))
}

fn sliding() -> Box<dyn Contender> {
    ours(Limit::sliding_window("sliding", Amount::from_units(100), WINDOW).map(|limit| vec![limit]))
}

fn two() -> Box<dyn Contender> {
    let fixed = Limit::fixed_window("fixed", Amount::from_units(100), WINDOW);
    ours(fixed.map(|fixed| vec![token_bucket(Quota::ROOMY), fixed]))
}

/// A thing whose memory is counted.
struct Kept {
    what: &'static str,
    make: fn() -> Box<dyn Contender>,
    key: fn(usize) -> String,
    /// At how many keys, and whether the product's target applies.
    at: &'static [usize],
    target: bool,
}

const KEPT: &[Kept] = &[
    Kept {
        what: "tidegate, token bucket",
        make: bucket,
        key,
        at: &[1_000_000, 5_000_000],
        target: true,
    },
    Kept {
        what: "tidegate, fixed window",
        make: fixed,
        key,
        at: &[1_000_000, 5_000_000],
        target: true,
    },
    Kept {
        what: "tidegate, token bucket, keys of 64 bytes",
        make: bucket,
        key: long_key,
        at: &[1_000_000],
        target: true,
    },
    Kept {
        what: "tidegate, sliding window",
        make: sliding,
        key,
        at: &[1_000_000],
        target: false,
    },
    Kept {
        what: "tidegate, token bucket and fixed window",
        make: two,
        key,
        at: &[1_000_000],
        target: false,
    },
    Kept {
        what: "governor",
        make: || Box::new(Governor::new(Quota::ROOMY)),
        key,
        at: &[1_000_000, 5_000_000],
        target: false,
    },
    Kept {
        what: "governor, keys of 64 bytes",
        make: || Box::new(Governor::new(Quota::ROOMY)),
        key: long_key,
        at: &[1_000_000],
        target: false,
    },
    Kept {
        what: "throttlecrab",
        make: || Box::new(Throttlecrab::new(Quota::ROOMY)),
        key,
        at: &[1_000_000, 5_000_000],
        target: false,
    },
    Kept {
        what: "limitador",
        make: || Box::new(Limitador::new(Quota::ROOMY, 2_000_000)),
        key,
        at: &[1_000_000],
        target: false,
    },
];

fn per_key(counted: Count) {
    let columns = [
        "bytes per key, rounded up as the allocator does",
        "at 1M",
        "at 5M",
        "target",
        "",
    ];
    let mut table = Table::new("Memory: `counted`", &columns);
    for kept in KEPT {
        let figures: Vec<f64> = kept
            .at
            .iter()
            .map(|n| bytes_per_key(kept, *n, counted))
            .collect();
        let mut cells = vec![kept.what.to_owned()];
        cells.extend(figures.iter().map(|bytes| format!("{bytes:.1}")));
        cells.resize(3, String::new());
        if kept.target {
            let worst = figures.iter().copied().fold(0.0, f64::max);
            cells.extend([
                "<= 40 (56 for a state of 16 bytes)".into(),
                memory_verdict(worst),
            ]);
        }
        table.row(cells);
    }
    // Just above a power of two too, where a log that doubled would be half empty.
    for each in [1000, 1100] {
        let logged = bytes_per_logged(each, counted);
        let what = format!("tidegate, rolling window, per request remembered ({each} a key)");
        let target = ["<= 16".to_owned(), verdict(logged <= 16.0)];
        let cells = [what, format!("{logged:.1}"), String::new()];
        table.row(cells.into_iter().chain(target));
    }
    table.print();
}

fn memory_verdict(bytes: f64) -> String {
    match bytes {
        bytes if bytes <= 40.0 => "met".into(),
        bytes if bytes <= 56.0 => "met for 16 bytes".into(),
        _ => verdict(false),
    }
}

fn bytes_per_key(kept: &Kept, n: usize, counted: Count) -> f64 {
    let before = counted().live_bytes;
    let store = (kept.make)();
    for number in 0..n {
        store.check(&(kept.key)(number));
    }
    (counted().live_bytes - before) as f64 / n as f64
}

fn bytes_per_logged(each: usize, counted: Count) -> f64 {
    const KEYS: usize = 1000;
    let before = counted().live_bytes;
    let clock = PacedClock::new();
    let limit = Limit::rolling_window("rolling", Amount::from_units(10_000), WINDOW)
        .expect("the limit of a bench is valid");
    let store = Tidegate::paced(MemoryConfig::default(), &clock, [limit]);
    for _ in 0..each {
        fill(&store, KEYS);
        clock.advance(Span::from_millis(1));
    }
    (counted().live_bytes - before) as f64 / (KEYS * each) as f64
}

/// A check whose allocations are counted.
type Checked = (&'static str, fn() -> Box<dyn Contender>, bool);

fn per_check(counted: Count) {
    const KEYS: usize = 10_000;
    const CHECKED: &[Checked] = &[
        ("tidegate, token bucket", bucket, true),
        ("tidegate, fixed window", fixed, true),
        ("tidegate, sliding window", sliding, true),
        ("tidegate, token bucket and fixed window", two, true),
        ("governor", || Box::new(Governor::new(Quota::ROOMY)), false),
        (
            "throttlecrab",
            || Box::new(Throttlecrab::new(Quota::ROOMY)),
            false,
        ),
        (
            "limitador",
            || Box::new(Limitador::new(Quota::ROOMY, 2 * KEYS)),
            false,
        ),
    ];
    let what = format!("allocations per check of {} known keys", count(KEYS));
    let mut table = Table::new("Allocations: `counted`", &[&what, "", "target", ""]);
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    for (what, make, target) in CHECKED {
        let store = make();
        store.check_all(&keys);
        let before = counted().allocations;
        (0..10).for_each(|_| {
            store.check_all(&keys);
        });
        let each = (counted().allocations - before) as f64 / (10 * KEYS) as f64;
        let judged = match target {
            true => ["0".to_owned(), verdict(each == 0.0)],
            false => Default::default(),
        };
        table.row(
            [(*what).to_owned(), format!("{each:.2}")]
                .into_iter()
                .chain(judged),
        );
    }
    table.print();
}
