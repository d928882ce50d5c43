//! Two threads: on many keys, and on one.

use super::count;
use crate::contender::{Contender, Governor, Quota, Throttlecrab, Tidegate, fill};
use crate::key::{key, shuffled};
use crate::measure::in_turn;
use crate::report::{Table, Target};
use crate::settings::Settings;

pub(super) fn run(settings: &Settings) {
    let columns = [
        "million checks per second",
        "tidegate",
        "governor",
        "throttlecrab",
        "ratio",
        "target",
        "",
    ];
    let mut table = Table::new("Two threads: `inproc threads`", &columns);
    for (n, target) in [(10_000, 2.0), (1_000_000, 4.0)] {
        let what = format!("two threads, {} keys", count(n));
        let [ours, governor, throttlecrab] = many(n, settings);
        let judged = Target::AtLeast(target).judge(ours / governor);
        table.row(
            std::iter::once(what)
                .chain([ours, governor, throttlecrab].map(millions))
                .chain(judged),
        );
    }
    let [one, two] = [1, 2].map(|threads| hot(threads, settings));
    let judged = Target::AtLeast(1.0).judge(two[0] / two[1]);
    table.row(
        std::iter::once("one hot key, two threads".into())
            .chain(two.map(millions))
            .chain(judged),
    );
    let judged = Target::AtLeast(0.5).judge(two[0] / one[0]);
    let cells = std::iter::once("the same key, one thread (ratio: two threads to one)".into());
    table.row(cells.chain(one.map(millions)).chain(judged));
    table.print();
}

fn millions(rate: f64) -> String {
    format!("{:.1}", rate / 1e6)
}

/// Checks per second on many keys, two threads together.
fn many(n: usize, settings: &Settings) -> [f64; 3] {
    let keys = [shuffled(n, 1), shuffled(n, 2)];
    measure(Quota::ROOMY, n, &[&keys[0], &keys[1]], settings)
}

/// Checks per second on one key.
fn hot(threads: usize, settings: &Settings) -> [f64; 3] {
    // Each thread reads copies of its own: the contenders are measured, not the key.
    let keys = vec![vec![key(0); 1024]; threads];
    let keys: Vec<&[String]> = keys.iter().map(Vec::as_slice).collect();
    measure(Quota::HOT, 1, &keys, settings)
}

fn measure(quota: Quota, n: usize, keys: &[&[String]], settings: &Settings) -> [f64; 3] {
    let (tidegate, governor) = (Tidegate::new(quota), Governor::new(quota));
    let throttlecrab = Throttlecrab::new(quota);
    let contenders: [&dyn Contender; 3] = [&tidegate, &governor, &throttlecrab];
    contenders.iter().for_each(|contender| fill(*contender, n));
    let rates = in_turn(&contenders, keys, settings);
    [rates[0], rates[1], rates[2]]
}
