//! The machine's clock, read cheaply.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::Clock;
use super::counter::Counter;
use crate::time::{Span, Timestamp};

/// How long after its start the clock first looks at wall time, and at the counter's speed again;
/// each wait after that is ten times as long, up to one second.
const ANCHOR_FIRST: Span = Span::from_millis(1);
const ANCHOR_EVERY: Span = Span::from_secs(1);

/// The machine's time: wall time at the start plus monotonic time since, set anew to wall time
/// about once a second.
///
/// Time passes by the processor's time stamp counter where the kernel itself trusts it, and by the
/// kernel's monotonic clock elsewhere.
///
/// # Examples
///
/// ```
/// use tidegate::{Clock, SystemClock, Timestamp};
///
/// let clock = SystemClock::new();
/// assert!(clock.now() > Timestamp::from_secs(1_700_000_000));
/// ```
#[derive(Debug)]
pub struct SystemClock {
    counter: Counter,
    /// The counter and the kernel's clock at the start: their distance to now gives its speed.
    started: (u64, Instant),
    /// Counts the changes of `anchor`; odd while one is made.
    version: AtomicU64,
    anchor: Anchor,
    /// The counter at which wall time is looked at next.
    next_anchor: AtomicU64,
    anchoring: AtomicBool,
}

/// How many readings of the clocks are taken to find one without an interruption.
const SAMPLES: usize = 5;

/// The counter, the kernel's clock and wall time, read one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    count: u64,
    elapsed: Span,
    wall: u64,
    /// Counts between the first reading and the last.
    apart: u64,
}

/// From what the time is worked out: all three were set together.
#[derive(Debug)]
struct Anchor {
    /// The counter then.
    count: AtomicU64,
    /// Unix nanoseconds then.
    wall: AtomicU64,
    /// Nanoseconds in 2^32 counts.
    speed: AtomicU64,
}

impl SystemClock {
    /// A clock that starts at the machine's wall time.
    ///
    /// It takes a millisecond to learn the counter's speed.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one reader of a clock")]
    pub fn new() -> SystemClock {
        let counter = Counter::best();
        let clock = SystemClock {
            counter,
            started: (counter.read(), Instant::now()),
            version: AtomicU64::new(0),
            anchor: Anchor {
                count: AtomicU64::new(0),
                wall: AtomicU64::new(0),
                speed: AtomicU64::new(0),
            },
            next_anchor: AtomicU64::new(0),
            anchoring: AtomicBool::new(false),
        };
        std::thread::sleep(ANCHOR_FIRST.into());
        clock.set_anchor();
        clock
    }

    /// Looks at wall time and at the counter's speed, unless another thread does so now.
    #[cold]
    fn look_at_wall(&self) {
        if !self.anchoring.swap(true, Ordering::Acquire) {
            self.set_anchor();
            self.anchoring.store(false, Ordering::Release);
        }
    }

    /// Sets the anchor. One thread at a time.
    fn set_anchor(&self) {
        let Sample { count, elapsed, wall, .. } = self.sample();
        let counted = count.saturating_sub(self.started.0).max(1);
        let speed = (u128::from(elapsed.as_nanos()) << 32) / u128::from(counted);
        // A sequence lock: readers start again when the version was odd or changed meanwhile. The
        // release fence keeps the values from being seen before the odd version.
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.anchor.count.store(count, Ordering::Relaxed);
        self.anchor.wall.store(wall, Ordering::Relaxed);
        self.anchor.speed.store(u64::try_from(speed).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
        // As far ahead as the clock has run so far, nine times over, and a second at most.
        let ahead = counted.saturating_mul(9);
        let second = u128::from(ANCHOR_EVERY.as_nanos()) << 32;
        let second = u64::try_from(second / speed.max(1)).unwrap_or(u64::MAX);
        self.next_anchor.store(count.saturating_add(ahead.min(second)), Ordering::Relaxed);
    }

    /// The three clocks at one time: the closest together of a few readings, since a thread may be
    /// interrupted between them, and would then set the time ahead by as long.
    fn sample(&self) -> Sample {
        let samples = (0..SAMPLES).map(|_| {
            let before = self.counter.read();
            let (wall, elapsed) = (wall_nanos(), Span::from(self.started.1.elapsed()));
            let count = self.counter.read();
            Sample { count, elapsed, wall, apart: count.saturating_sub(before) }
        });
        samples.min_by_key(|sample| sample.apart).unwrap_or_default()
    }

    /// The anchor as it was set at one time.
    fn anchored(&self) -> (u64, u64, u64) {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let anchor = (
                self.anchor.count.load(Ordering::Relaxed),
                self.anchor.wall.load(Ordering::Relaxed),
                self.anchor.speed.load(Ordering::Relaxed),
            );
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                return anchor;
            }
            std::hint::spin_loop();
        }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Timestamp {
        let count = self.counter.read();
        if count >= self.next_anchor.load(Ordering::Relaxed) {
            self.look_at_wall();
        }
        let (anchor, wall, speed) = self.anchored();
        let passed = (u128::from(count.saturating_sub(anchor)) * u128::from(speed)) >> 32;
        Timestamp::from_nanos(wall.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }
}

/// Wall time in Unix nanoseconds; 0 for a clock set before 1970.
#[allow(clippy::disallowed_methods, reason = "this is the one reader of a clock")]
fn wall_nanos() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Span::from(since_epoch).as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In real time, which is what it is about.
    #[test]
    fn it_agrees_with_the_wall_and_hardly_ever_goes_back() {
        let clock = SystemClock::new();
        let (mut last, mut back) = (clock.now(), Span::ZERO);
        for _ in 0..200_000 {
            let now = clock.now();
            back = back.max(last.since(now));
            last = now;
        }
        // Only a look at wall time may set it back, by what the clocks drifted since the last.
        assert!(back < Span::from_millis(10), "went back by {back}");
        let wall = Timestamp::from_nanos(wall_nanos());
        let apart = wall.since(clock.now()).max(clock.now().since(wall));
        assert!(apart < Span::from_millis(100), "{apart} apart");
    }
}
