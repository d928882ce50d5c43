//! One check with a full decision and the clock read, and batches of 16, on one thread.

use super::count;
use crate::contender::{
    Batched, Contender, Governor, Limitador, Quota, Throttlecrab, Tidegate, fill,
};
use crate::key::shuffled;
use crate::measure::one_thread;
use crate::report::{Table, Target, ns};
use crate::settings::Settings;

pub(super) fn run(settings: &Settings) {
    let columns = [
        "ns per check",
        "tidegate",
        "governor",
        "throttlecrab",
        "limitador",
        "ratio",
        "target",
        "",
    ];
    let mut table = Table::new("One thread: `inproc speed`", &columns);
    for (n, single) in [
        (1, 0.7),
        (10_000, 0.7),
        (1_000_000, 0.25),
        (5_000_000, 0.25),
    ] {
        let figures = measure(n, settings);
        let governor = figures.governor;
        let row = |what: &str, ours: f64, peers: [String; 2], target: f64| {
            let cells = [
                format!("{what}, keys: {}", count(n)),
                ns(ours),
                ns(governor),
            ];
            let judged = Target::AtMost(target).judge(ours / governor);
            cells
                .into_iter()
                .chain(peers)
                .chain(judged)
                .collect::<Vec<_>>()
        };
        table.row(row(
            "check",
            figures.single,
            figures.others.map(|f| f.map_or("-".into(), ns)),
            single,
        ));
        if n == 1_000_000 {
            let none = [String::new(), String::new()];
            table.row(row("batches of 16", figures.batched, none, 0.1));
        }
    }
    table.print();
}

/// Nanoseconds per check.
struct Figures {
    single: f64,
    batched: f64,
    governor: f64,
    /// throttlecrab and limitador.
    others: [Option<f64>; 2],
}

fn measure(n: usize, settings: &Settings) -> Figures {
    let quota = if n == 1 { Quota::HOT } else { Quota::ROOMY };
    let keys = if n == 1 {
        vec![crate::key::key(0); 1024]
    } else {
        shuffled(n, 1)
    };
    let (tidegate, governor) = (Tidegate::new(quota), Governor::new(quota));
    let batched = Batched(&tidegate);
    // Beyond 1M keys throttlecrab and limitador would take gigabytes and tell nothing new.
    let others: Option<[Box<dyn Contender>; 2]> = (n <= 1_000_000).then(|| {
        let throttlecrab: Box<dyn Contender> = Box::new(Throttlecrab::new(quota));
        let limitador: Box<dyn Contender> = Box::new(Limitador::new(quota, 2 * n + 1000));
        [throttlecrab, limitador]
    });
    let mut contenders: Vec<&dyn Contender> = vec![&tidegate, &governor];
    contenders.extend(others.iter().flatten().map(|other| &**other));
    for contender in &contenders {
        fill(*contender, n);
    }
    contenders.insert(1, &batched);
    let figures = one_thread(&contenders, &keys, settings);
    Figures {
        single: figures[0],
        batched: figures[1],
        governor: figures[2],
        others: [figures.get(3).copied(), figures.get(4).copied()],
    }
}
