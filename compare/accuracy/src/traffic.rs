//! Four kinds of traffic, the same at every run.

use tidegate::{Span, Timestamp};

use crate::{MAX, WINDOW};

/// How long each is offered.
const LASTS: u64 = 30 * 60;
/// A whole number of windows after the epoch.
pub const START: Timestamp = Timestamp::from_secs(60_000_000);

/// A kind of traffic.
#[derive(Clone, Copy, Debug)]
pub enum Traffic {
    /// Independent requests, 1.2 times what the limit lets pass.
    Poisson,
    /// Bursts of 10 to 150 at random times.
    Bursty,
    /// A full limit just before and just after every other window's edge.
    WindowEdge,
    /// Pairs around each second's edge: what a limiter that counts in seconds gets wrong.
    SecondEdge,
}

impl Traffic {
    pub const ALL: [Traffic; 4] = [
        Traffic::Poisson,
        Traffic::Bursty,
        Traffic::WindowEdge,
        Traffic::SecondEdge,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Traffic::Poisson => "poisson",
            Traffic::Bursty => "bursty",
            Traffic::WindowEdge => "window-edge",
            Traffic::SecondEdge => "second-edge",
        }
    }

    /// The same in a few words.
    pub fn what(self) -> &'static str {
        match self {
            Traffic::Poisson => "independent requests, 1.2 times the limit",
            Traffic::Bursty => "bursts of 10 to 150 at random times",
            Traffic::WindowEdge => "a full limit just before and after every other window's edge",
            Traffic::SecondEdge => "two requests around the edge of each second",
        }
    }

    /// When requests come, in order.
    pub fn offered(self) -> Vec<Timestamp> {
        let mut times = match self {
            Traffic::Poisson => poisson(1.2 * MAX as f64 / 60.0),
            Traffic::Bursty => bursty(),
            Traffic::WindowEdge => window_edge(),
            Traffic::SecondEdge => second_edge(),
        };
        times.sort_unstable();
        times
            .into_iter()
            .map(|micros| START + Span::from_micros(micros))
            .collect()
    }
}

/// Microseconds from the start at which requests of `per_second` come.
fn poisson(per_second: f64) -> Vec<u64> {
    let mut random = Random(1);
    let mut at = 0.0;
    let gaps = std::iter::from_fn(|| {
        at += -(1.0 - random.unit()).ln() / per_second;
        (at < LASTS as f64).then_some((at * 1e6) as u64)
    });
    gaps.collect()
}

fn bursty() -> Vec<u64> {
    let mut random = Random(2);
    let mut times = Vec::new();
    let mut at = 0.0;
    while at < LASTS as f64 {
        at += -(1.0 - random.unit()).ln() * 45.0;
        let size = 10 + (random.unit() * 140.0) as u64;
        times.extend((0..size).map(|n| (at * 1e6) as u64 + n * 5_000));
    }
    times
}

fn window_edge() -> Vec<u64> {
    let window = WINDOW.as_nanos() / 1_000;
    let edges = (1..LASTS * 1_000_000 / window)
        .step_by(2)
        .map(|edge| edge * window);
    edges
        .flat_map(|edge| (0..MAX).flat_map(move |n| [edge - 1_000 * (n + 1), edge + 1_000 * n]))
        .collect()
}

fn second_edge() -> Vec<u64> {
    (1..LASTS)
        .flat_map(|second| [second * 1_000_000 - 1, second * 1_000_000 + 1])
        .collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
