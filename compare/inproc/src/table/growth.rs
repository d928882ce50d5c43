//! The worst single insert while a store grows to 5M keys.

use std::time::{Duration, Instant};

use crate::contender::{Contender, Governor, Quota, Throttlecrab, Tidegate};
use crate::key::key;
use crate::measure::median;
use crate::report::{Table, ms, verdict};
use crate::settings::Settings;
use crate::stopwatch::thread_time;

const KEYS: usize = 5_000_000;
const BOUND: Duration = Duration::from_millis(1);

pub(super) fn run(settings: &Settings) {
    let columns = [
        "growing to 5M keys",
        "tidegate",
        "governor",
        "throttlecrab",
        "target",
        "",
    ];
    let mut table = Table::new("Growth: `inproc growth`", &columns);
    let make: [fn() -> Box<dyn Contender>; 3] = [
        || Box::new(Tidegate::new(Quota::ROOMY)),
        || Box::new(Governor::new(Quota::ROOMY)),
        || Box::new(Throttlecrab::new(Quota::ROOMY)),
    ];
    let mut runs = [const { Vec::new() }; 3];
    for _ in 0..settings.runs {
        for (make, runs) in make.iter().zip(&mut runs) {
            runs.push(grow(&*make()));
        }
    }
    let of = |pick: fn(&Worst) -> Duration| {
        runs.each_ref()
            .map(|runs| median(runs.iter().map(pick).collect::<Vec<_>>()))
    };
    let (cpu, wall) = (of(|worst| worst.cpu), of(|worst| worst.wall));
    let total = of(|worst| worst.total);
    let row = |what: &str, figures: [Duration; 3]| {
        std::iter::once(what.to_owned())
            .chain(figures.map(ms))
            .collect::<Vec<_>>()
    };
    let mut judged = row("worst insert, processor time of its thread", cpu);
    judged.extend(["<= 1 ms".into(), verdict(cpu[0] <= BOUND)]);
    table.row(judged);
    table.row(row(
        "worst insert, wall time (with whatever else the machine does)",
        wall,
    ));
    table.row(row("all inserts, clocks included", total));
    table.print();
}

/// The slowest insert by each clock, and all of them together.
struct Worst {
    cpu: Duration,
    wall: Duration,
    total: Duration,
}

fn grow(contender: &dyn Contender) -> Worst {
    let start = Instant::now();
    let mut worst = Worst {
        cpu: Duration::ZERO,
        wall: Duration::ZERO,
        total: Duration::ZERO,
    };
    for number in 0..KEYS {
        let key = key(number);
        let (wall, cpu) = (Instant::now(), thread_time());
        contender.check(&key);
        worst.cpu = worst.cpu.max(thread_time() - cpu);
        worst.wall = worst.wall.max(wall.elapsed());
    }
    worst.total = start.elapsed();
    worst
}
