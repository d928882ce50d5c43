//! Timing: who is measured when, and for how long.

use std::sync::Barrier;

use crate::contender::Contender;
use crate::settings::Settings;
use crate::stopwatch::Since;

/// How many checks are made between two looks at the time.
const CHUNK: usize = 1024;

/// A walk over keys that goes on where it stopped.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    keys: &'a [String],
    at: usize,
}

impl<'a> Walk<'a> {
    /// A walk over these keys, again and again.
    pub fn new(keys: &'a [String]) -> Walk<'a> {
        Walk { keys, at: 0 }
    }

    /// The next keys.
    fn chunk(&mut self) -> &'a [String] {
        if self.at == self.keys.len() {
            self.at = 0;
        }
        let end = self.keys.len().min(self.at + CHUNK);
        let chunk = &self.keys[self.at..end];
        self.at = end;
        chunk
    }
}

/// Checks keys for as long as the settings say; gives checks per second.
pub fn rate(contender: &dyn Contender, walk: &mut Walk<'_>, settings: &Settings) -> f64 {
    let start = Since::now(settings.time);
    let mut checks = 0;
    loop {
        let chunk = walk.chunk();
        contender.check_all(chunk);
        checks += chunk.len();
        let elapsed = start.elapsed();
        if elapsed >= settings.at_least {
            return checks as f64 / elapsed.as_secs_f64();
        }
    }
}

/// Nanoseconds per check of each contender on one thread, taking turns.
pub fn one_thread(contenders: &[&dyn Contender], keys: &[String], settings: &Settings) -> Vec<f64> {
    let rates = in_turn(contenders, &[keys], settings);
    rates.into_iter().map(|rate| 1e9 / rate).collect()
}

/// Checks per second of each contender, all threads together (one thread for each list of keys),
/// taking turns.
pub fn in_turn(contenders: &[&dyn Contender], keys: &[&[String]], settings: &Settings) -> Vec<f64> {
    let mut walks: Vec<Vec<Walk<'_>>> = contenders
        .iter()
        .map(|_| keys.iter().map(|keys| Walk::new(keys)).collect())
        .collect();
    let warm_up = Settings {
        at_least: settings.at_least / 5,
        ..settings.clone()
    };
    for (contender, walks) in contenders.iter().zip(&mut walks) {
        together(*contender, walks, &warm_up);
    }
    let mut rates = vec![Vec::new(); contenders.len()];
    for _ in 0..settings.runs {
        for (at, contender) in contenders.iter().enumerate() {
            rates[at].push(together(*contender, &mut walks[at], settings));
        }
    }
    rates.into_iter().map(median).collect()
}

/// Checks per second of several threads on one contender, each on a walk of its own.
fn together(contender: &dyn Contender, walks: &mut [Walk<'_>], settings: &Settings) -> f64 {
    if let [walk] = walks {
        return rate(contender, walk, settings);
    }
    let start = Barrier::new(walks.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = walks
            .iter_mut()
            .map(|walk| {
                scope.spawn(|| {
                    start.wait();
                    rate(contender, walk, settings)
                })
            })
            .collect();
        let rates = threads.into_iter().map(|thread| thread.join());
        rates
            .map(|rate| rate.expect("a measuring thread does not panic"))
            .sum()
    })
}

/// The middle one of some figures; the upper of two.
pub fn median<T: PartialOrd + Copy>(mut figures: Vec<T>) -> T {
    figures.sort_by(|a, b| a.partial_cmp(b).expect("figures compare"));
    figures[figures.len() / 2]
}
