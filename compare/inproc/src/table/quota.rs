//! The longest wait of a check while a quota takes the processors from threads that hold locks.
//!
//! `compare/run-inproc.sh quota` runs it in a control group of half a processor; without one the
//! threads only take turns.

use std::time::{Duration, Instant};

use crate::contender::{Contender, Governor, Quota, Throttlecrab, Tidegate, fill};
use crate::key::key;
use crate::measure::median;
use crate::report::{Table, ms, verdict};
use crate::settings::Settings;

/// The period of the quota.
const PERIOD: Duration = Duration::from_millis(100);
/// Several times as many threads as processors, so that holders of locks lose theirs.
const THREADS: usize = 8;

/// Reads the clock and no more: what the quota itself keeps a thread waiting.
struct Nothing;

impl Contender for Nothing {
    fn check(&self, key: &String) -> bool {
        !key.is_empty()
    }
}

pub(super) fn run(settings: &Settings) {
    let columns = [
        "longest check",
        "tidegate",
        "governor",
        "throttlecrab",
        "no store",
        "target",
        "",
    ];
    let mut table = Table::new("Half a processor, 8 threads: `inproc quota`", &columns);
    for (what, keys) in [("one hot key", 1), ("10k keys", 10_000)] {
        let (tidegate, governor) = (Tidegate::new(Quota::HOT), Governor::new(Quota::HOT));
        let throttlecrab = Throttlecrab::new(Quota::HOT);
        let contenders: [&dyn Contender; 4] = [&tidegate, &governor, &throttlecrab, &Nothing];
        let mut longest = [const { Vec::new() }; 4];
        contenders
            .iter()
            .for_each(|contender| fill(*contender, keys));
        for _ in 0..settings.runs {
            for (contender, longest) in contenders.iter().zip(&mut longest) {
                longest.push(longest_check(*contender, keys, settings));
            }
        }
        let longest = longest.map(median);
        let cells = std::iter::once(what.to_owned()).chain(longest.map(ms));
        table.row(cells.chain(["<= 200 ms".into(), verdict(longest[0] <= 2 * PERIOD)]));
    }
    table.print();
}

/// The longest check of several threads, for ten times as long as the settings say.
fn longest_check(contender: &dyn Contender, keys: usize, settings: &Settings) -> Duration {
    let until = Instant::now() + 10 * settings.at_least;
    let one = |thread: usize| {
        let keys: Vec<String> = (0..keys)
            .map(|n| key((n + thread * 1_117) % keys))
            .collect();
        let mut longest = Duration::ZERO;
        let mut before = Instant::now();
        for key in keys.iter().cycle() {
            contender.check(key);
            let now = Instant::now();
            longest = longest.max(now - before);
            before = now;
            if now > until {
                break;
            }
        }
        longest
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || one(thread)))
            .collect();
        let longest = threads.into_iter().map(|thread| thread.join());
        longest
            .map(|longest| longest.expect("a measuring thread does not panic"))
            .max()
            .unwrap_or_default()
    })
}
