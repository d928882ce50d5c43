//! Every algorithm, two limits on one key, and a denial, against our own token bucket.
//!
//! Time is virtual here, so that a rolling window holds exactly 8 requests of each key whatever the
//! machine's speed: every key is asked once in each eighth of the window.

use std::sync::Arc;

use tidegate::{Amount, Limit, LimitError, MemoryConfig, Rate, Span};

use super::count;
use crate::contender::{Contender, PacedClock, Quota, Tidegate, fill, token_bucket};
use crate::key::shuffled;
use crate::measure::median;
use crate::report::{Table, Target, ns};
use crate::settings::Settings;
use crate::stopwatch::Since;

const WINDOW: Span = Span::from_secs(3600);
const HELD: u64 = 8;
/// How far time goes from one pass over all keys to the next.
const STEP: Span = Span::from_secs(3600 / HELD);
/// More than any key asks for in a window.
const MAX: Amount = Amount::from_units(1_000_000);

/// One thing that is asked, on a clock of its own.
struct Subject {
    what: &'static str,
    target: f64,
    clock: Arc<PacedClock>,
    store: Tidegate<Arc<PacedClock>>,
    figures: Vec<f64>,
}

impl Subject {
    fn new(what: &'static str, target: f64, limits: Result<Vec<Limit>, LimitError>) -> Subject {
        let clock = PacedClock::new();
        let limits = limits.expect("the limits of a bench are valid");
        let store = Tidegate::paced(MemoryConfig::default(), &clock, limits);
        Subject {
            what,
            target,
            clock,
            store,
            figures: Vec::new(),
        }
    }

    /// Asks once about every key and moves time on.
    fn pass(&self, keys: &[String]) {
        self.store.check_all(keys);
        self.clock.advance(STEP);
    }

    /// Nanoseconds per check over as many passes as it takes.
    fn measure(&mut self, keys: &[String], settings: &Settings) {
        let start = Since::now(settings.time);
        let mut checks = 0;
        while start.elapsed() < settings.at_least {
            self.pass(keys);
            checks += keys.len();
        }
        self.figures
            .push(start.elapsed().as_secs_f64() * 1e9 / checks as f64);
    }
}

pub(super) fn run(settings: &Settings) {
    let columns = [
        "ns per check",
        "keys",
        "tidegate",
        "ratio to the token bucket",
        "target",
        "",
    ];
    let mut table = Table::new("Algorithms and denials: `inproc algorithms`", &columns);
    for n in [10_000, 1_000_000] {
        let mut subjects = subjects();
        let keys = shuffled(n, 1);
        for subject in &subjects {
            fill(&subject.store, n);
            (0..=HELD).for_each(|_| subject.pass(&keys));
        }
        for _ in 0..settings.runs {
            subjects
                .iter_mut()
                .for_each(|subject| subject.measure(&keys, settings));
        }
        let figures: Vec<f64> = subjects
            .iter()
            .map(|subject| median(subject.figures.clone()))
            .collect();
        for (subject, figure) in subjects.iter().zip(&figures) {
            let [ratio, target, met] = Target::AtMost(subject.target).judge(figure / figures[0]);
            let first = subject.what == "token bucket";
            let (target, met) = if first {
                Default::default()
            } else {
                (target, met)
            };
            table.row([
                subject.what.into(),
                count(n),
                ns(*figure),
                ratio,
                target,
                met,
            ]);
        }
    }
    table.print();
}

fn subjects() -> Vec<Subject> {
    let bucket = || token_bucket(Quota::ROOMY);
    let fixed = || Limit::fixed_window("fixed", MAX, WINDOW);
    let rate = Rate::per(Amount::ONE, Span::from_secs(365 * 86_400)).expect("not zero");
    vec![
        Subject::new("token bucket", 1.0, Ok(vec![bucket()])),
        Subject::new("fixed window", 1.5, fixed().map(|limit| vec![limit])),
        Subject::new(
            "rolling window, 8 in the window",
            2.5,
            Limit::rolling_window("rolling", MAX, WINDOW).map(|limit| vec![limit]),
        ),
        Subject::new(
            "sliding window",
            1.5,
            Limit::sliding_window("sliding", MAX, WINDOW).map(|limit| vec![limit]),
        ),
        Subject::new(
            "token bucket and fixed window on one key",
            1.8,
            fixed().map(|fixed| vec![bucket(), fixed]),
        ),
        Subject::new(
            "token bucket, denied",
            1.0,
            Limit::token_bucket("denied", Amount::ONE, rate).map(|limit| vec![limit]),
        ),
    ]
}
