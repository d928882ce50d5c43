//! The longest pause of any check while 5M keys expire at once and another thread sweeps them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidegate::{MemoryConfig, Span};

use crate::contender::{Contender, Governor, PacedClock, Quota, Tidegate, fill, token_bucket};
use crate::key::shuffled;
use crate::measure::median;
use crate::report::{Table, ms, verdict};
use crate::settings::Settings;
use crate::stopwatch::Longest;

const KEYS: usize = 5_000_000;
/// The keys that are asked about meanwhile.
const ASKED: usize = 10_000;
const BOUND: Duration = Duration::from_millis(1);

pub(super) fn run(settings: &Settings) {
    let columns = [
        "while 5M keys expire",
        "tidegate",
        "governor",
        "no store",
        "target",
        "",
    ];
    let mut table = Table::new("Expiry: `inproc expiry`", &columns);
    let mut runs = [const { Vec::new() }; 3];
    for _ in 0..settings.runs {
        let ours = tidegate();
        runs[0].push(ours);
        runs[1].push(governor());
        // As long as ours took: what the machine itself does to a thread in that time.
        runs[2].push(idle(ours.1));
    }
    let of = |pick: fn(&(Longest, Duration)) -> Duration| {
        runs.each_ref()
            .map(|runs| median(runs.iter().map(pick).collect::<Vec<_>>()))
    };
    let (undisturbed, wall) = (of(|run| run.0.undisturbed), of(|run| run.0.wall));
    let row = |what: &str, figures: [Duration; 3]| {
        std::iter::once(what.to_owned())
            .chain(figures.map(ms))
            .collect::<Vec<_>>()
    };
    let mut judged = row(
        "longest check in which its thread kept its processor",
        undisturbed,
    );
    judged.extend(["<= 1 ms".into(), verdict(undisturbed[0] <= BOUND)]);
    table.row(judged);
    table.row(row(
        "longest check, wall time (with whatever else the machine does)",
        wall,
    ));
    table.row(row("the sweep of all of them", of(|run| run.1)));
    table.print();
}

/// Checks on one thread while `sweep` runs on another; gives the longest check and the sweep's time.
fn while_sweeping(
    check: impl Fn(&String) -> bool,
    sweep: impl FnOnce() + Send,
) -> (Longest, Duration) {
    let keys = shuffled(ASKED, 1);
    let done = AtomicBool::new(false);
    let mut longest = Longest::default();
    let took = std::thread::scope(|scope| {
        let sweeping = scope.spawn(|| {
            let start = Instant::now();
            sweep();
            // Relaxed: nothing else is handed over.
            done.store(true, Ordering::Relaxed);
            start.elapsed()
        });
        for key in keys.iter().cycle() {
            if done.load(Ordering::Relaxed) {
                break;
            }
            longest.time(|| {
                std::hint::black_box(check(key));
            });
        }
        sweeping.join().expect("a sweep does not panic")
    });
    (longest, took)
}

fn tidegate() -> (Longest, Duration) {
    let clock = PacedClock::new();
    let store = Tidegate::paced(
        MemoryConfig::default(),
        &clock,
        [token_bucket(Quota::ROOMY)],
    );
    fill(&store, KEYS);
    clock.advance(Span::from_secs(86_400));
    while_sweeping(|key| store.check(key), || store.store().sweep())
}

fn governor() -> (Longest, Duration) {
    // One a second: what was asked about once is back to full a second after.
    let store = Governor::new(Quota {
        burst: 1_000_000,
        period: 1,
    });
    fill(&store, KEYS);
    std::thread::sleep(Duration::from_secs(2));
    while_sweeping(|key| store.check(key), || store.sweep())
}

fn idle(took: Duration) -> (Longest, Duration) {
    while_sweeping(
        |key| std::hint::black_box(key).is_empty(),
        || {
            let start = Instant::now();
            while start.elapsed() < took {
                std::hint::spin_loop();
            }
        },
    )
}
