//! The tables, by name.

mod algorithms;
mod expiry;
mod flood;
mod growth;
pub mod memory;
mod quota;
mod speed;
mod threads;
mod upkeep;
mod workloads;

use crate::settings::{Settings, Time};

/// A table's name, what it shows, and what measures it.
type Measured = (&'static str, &'static str, fn(&Settings));

const TABLES: &[Measured] = &[
    (
        "speed",
        "one check, and batches of 16, at 1 to 5M keys, on one thread",
        speed::run,
    ),
    (
        "threads",
        "two threads, on many keys and on one",
        threads::run,
    ),
    (
        "algorithms",
        "every algorithm and a denial against the token bucket",
        algorithms::run,
    ),
    (
        "growth",
        "the worst insert while growing to 5M keys",
        growth::run,
    ),
    (
        "expiry",
        "the longest pause of a check while 5M keys expire",
        expiry::run,
    ),
    ("flood", "new keys at the bound of the store", flood::run),
    (
        "quota",
        "the longest check when threads that hold locks lose their processor",
        quota::run,
    ),
    (
        "upkeep",
        "how long checks take during sweeps, growth and a flood",
        upkeep::run,
    ),
    (
        "workloads",
        "hot key, 100k uniform, Zipf; allowed and denied; one and two threads",
        workloads::run,
    ),
];

/// Measures and prints the table asked for, or all; false when there is none of that name.
pub fn run(settings: &Settings) -> bool {
    let asked = |name: &str| settings.table == "all" || settings.table == name;
    let mut found = false;
    for (name, _, measure) in TABLES.iter().filter(|(name, ..)| asked(name)) {
        found = true;
        measure(settings);
        println!("{}\n", conditions(name, settings));
    }
    found
}

/// How a table was measured, and how busy the machine was with other things.
fn conditions(table: &str, settings: &Settings) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let time = match settings.time {
        Time::Wall => "wall time",
        Time::Processor => "processor time of the measuring threads",
    };
    if table == "upkeep" {
        return format!(
            "One run, wall time but where it says otherwise; load average of the machine {load}."
        );
    }
    let (runs, seconds) = (settings.runs, settings.at_least.as_secs_f64());
    format!("Medians of {runs}, {seconds} s each, {time}; load average of the machine {load}.")
}

/// What may be asked.
pub fn usage() -> String {
    let mut text = "inproc TABLE [--runs 3] [--seconds 0.5] [--processor-time]\n\n".to_owned();
    for (name, shows, _) in TABLES {
        text += &format!("  {name:<11} {shows}\n");
    }
    text + "  all         every one of them\n\n\
            bytes per key and allocations: cargo run --release -p inproc --bin counted"
}

/// A number of keys as people say it.
fn count(n: usize) -> String {
    match n {
        n if n >= 1_000_000 => format!("{}M", n / 1_000_000),
        n if n >= 1_000 => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}
