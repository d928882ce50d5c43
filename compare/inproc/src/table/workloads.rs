//! The original's own workloads: one hot key, 100k keys uniformly and by Zipf, allowed and denied,
//! on one thread and on two.

use crate::contender::{Contender, Governor, Limitador, Quota, Throttlecrab, Tidegate, fill};
use crate::key::{key, shuffled, zipf};
use crate::measure::in_turn;
use crate::report::{Table, ns};
use crate::settings::Settings;

const KEYS: usize = 100_000;
const HOT: &str = "one hot key";

pub(super) fn run(settings: &Settings) {
    let columns = [
        "ns per check",
        "threads",
        "tidegate",
        "governor",
        "throttlecrab",
        "limitador",
        "ratio",
    ];
    let mut table = Table::new("The original's workloads: `inproc workloads`", &columns);
    // Shorter than elsewhere: these rows have no target, and there are many.
    let settings = Settings {
        at_least: settings.at_least / 2,
        ..settings.clone()
    };
    let hot = || vec![key(0); 1024];
    let orders: [(&str, [Vec<String>; 2]); 3] = [
        (HOT, [hot(), hot()]),
        ("100k keys, uniform", [shuffled(KEYS, 1), shuffled(KEYS, 2)]),
        (
            "100k keys, Zipf",
            [zipf(KEYS, 1 << 17, 1), zipf(KEYS, 1 << 17, 2)],
        ),
    ];
    for (what, keys) in &orders {
        let allowing = if *what == HOT {
            Quota::HOT
        } else {
            Quota::SKEWED
        };
        for (outcome, quota) in [("allowed", allowing), ("denied", Quota::TIGHT)] {
            for threads in [1, 2] {
                let keys: Vec<&[String]> = keys[..threads].iter().map(Vec::as_slice).collect();
                let times = measure(quota, &keys, &settings);
                let ratio = format!("{:.2}", times[0] / times[1]);
                let cells = [format!("{what}, {outcome}"), threads.to_string()];
                table.row(cells.into_iter().chain(times.map(ns)).chain([ratio]));
            }
        }
    }
    table.print();
}

/// Nanoseconds per check, all threads together.
fn measure(quota: Quota, keys: &[&[String]], settings: &Settings) -> [f64; 4] {
    let (tidegate, governor) = (Tidegate::new(quota), Governor::new(quota));
    let (throttlecrab, limitador) = (Throttlecrab::new(quota), Limitador::new(quota, 2 * KEYS));
    let contenders: [&dyn Contender; 4] = [&tidegate, &governor, &throttlecrab, &limitador];
    contenders
        .iter()
        .for_each(|contender| fill(*contender, KEYS));
    let rates = in_turn(&contenders, keys, settings);
    std::array::from_fn(|at| 1e9 / rates[at])
}
