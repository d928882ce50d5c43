//! Plays traffic to one algorithm, and to a log that is exact by being naive.

use std::collections::VecDeque;
use std::sync::Arc;

use tidegate::{Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy, Timestamp};

use crate::traffic::START;
use crate::{MAX, WINDOW};

/// What an algorithm did with traffic.
pub struct Played {
    pub name: String,
    /// When admitted requests came.
    pub admitted: Vec<Timestamp>,
    /// The most of them in any window.
    pub peak: usize,
    /// Percent of the decisions that the exact log made too.
    pub agreement: f64,
}

/// Plays traffic to a limit.
pub fn play(limit: Limit, offered: &[Timestamp]) -> Result<Played, Box<dyn std::error::Error>> {
    let name = limit.name().to_string();
    let clock = Arc::new(ManualClock::new(START));
    let store = MemoryStore::with_clock(MemoryConfig::default(), Arc::clone(&clock));
    let limiter = Limiter::new(store, Policy::new("accuracy", [limit])?);
    let (mut log, mut admitted, mut same) = (ExactLog::default(), Vec::new(), 0);
    for &at in offered {
        clock.set(at);
        let allowed = limiter.check("alice")?.is_allowed();
        same += usize::from(log.allows(at) == allowed);
        if allowed {
            admitted.push(at);
        }
    }
    let peak = peak(&admitted);
    let agreement = 100.0 * same as f64 / offered.len() as f64;
    Ok(Played {
        name,
        admitted,
        peak,
        agreement,
    })
}

/// The most of these in any window; what is exactly one window old is in it no longer.
fn peak(admitted: &[Timestamp]) -> usize {
    let counts = trailing(admitted);
    counts.into_iter().max().unwrap_or(0)
}

/// How many were admitted in the window that ends at each of them.
fn trailing(admitted: &[Timestamp]) -> Vec<usize> {
    let mut oldest = 0;
    let counts = admitted.iter().enumerate().map(|(at, &now)| {
        while admitted[oldest] + WINDOW <= now {
            oldest += 1;
        }
        at + 1 - oldest
    });
    counts.collect()
}

/// Every admitted request, as long as it counts.
#[derive(Default)]
struct ExactLog(VecDeque<Timestamp>);

impl ExactLog {
    fn allows(&mut self, now: Timestamp) -> bool {
        while self.0.front().is_some_and(|&oldest| oldest + WINDOW <= now) {
            self.0.pop_front();
        }
        let allowed = (self.0.len() as u64) < MAX;
        if allowed {
            self.0.push_back(now);
        }
        allowed
    }
}
