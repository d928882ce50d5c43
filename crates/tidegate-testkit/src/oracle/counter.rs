//! What the model's counters have in common, and the rule for a clock that is behind the state.

use num_traits::{One, Zero};
use tidegate::{Algorithm, Align, Amount, Span};

use super::bucket::Bucket;
use super::fixed::Fixed;
use super::rolling::Rolling;
use super::sliding::Sliding;
use super::spacing::Spacing;
use super::{Exact, Place, Ticks, exact};

/// A count that changes with time.
pub(super) trait Count {
    /// The latest instant in the state; none when it is as if nothing had ever been asked.
    fn newest(&self) -> Option<Ticks>;
    /// Whether a clock this far behind the state may be a late reading by this limit's own length.
    fn is_within_refill(&self, behind: Ticks) -> bool;
    /// Moves instants later than `now` to `now`.
    fn restamp(&mut self, now: Ticks);
    /// Lets time pass until `at`, which is not before the newest instant.
    fn advance(&mut self, at: Ticks);
    /// Units in use at `at`, to which the state has been advanced.
    fn used(&self, at: Ticks) -> Exact;
    /// Adds a cost, up to one full limit below zero.
    fn charge(&mut self, cost: &Exact, at: Ticks);
    /// Takes a cost out again that was charged at `taken_at`; says whether that still counted.
    fn refund(&mut self, cost: &Exact, taken_at: Ticks) -> bool;
}

/// Any of the counters.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    kind: Kind,
    second: Ticks,
}

#[derive(Clone, Debug)]
enum Kind {
    Bucket(Bucket),
    Fixed(Fixed),
    Rolling(Rolling),
    Sliding(Sliding),
    Spacing(Spacing),
}

impl Counter {
    /// A counter that nobody has asked yet.
    pub(super) fn of(algorithm: &Algorithm, tick: Span) -> Counter {
        let ticks = |span: Span| ticks(span, tick);
        let kind = match *algorithm {
            Algorithm::TokenBucket { capacity, rate } => {
                let per_second = Exact::new(rate.num().into(), rate.den().into());
                let per_tick = per_second / Exact::from_integer(ticks(SECOND).into());
                Kind::Bucket(Bucket::full(exact(capacity), per_tick))
            }
            Algorithm::FixedWindow { max, window, align } => {
                Kind::Fixed(Fixed::empty(exact(max), ticks(window), align == Align::Epoch))
            }
            Algorithm::RollingWindow { max, window } => {
                Kind::Rolling(Rolling::empty(exact(max), ticks(window)))
            }
            Algorithm::SlidingWindow { max, window } => {
                Kind::Sliding(Sliding::empty(exact(max), ticks(window)))
            }
        };
        Counter { kind, second: ticks(SECOND) }
    }

    /// The spacing of a limit with a minimum interval.
    pub(super) fn spacing(interval: Span, tick: Span) -> Counter {
        Counter {
            kind: Kind::Spacing(Spacing::never(ticks(interval, tick))),
            second: ticks(SECOND, tick),
        }
    }

    /// What a kept counter has counted, under this one's numbers, which may be newer; nothing of it
    /// when it is of another algorithm.
    pub(super) fn with_use_of(self, kept: &Counter) -> Counter {
        let kind = match (self.kind, &kept.kind) {
            (Kind::Bucket(new), Kind::Bucket(kept)) => Kind::Bucket(new.with_use_of(kept)),
            (Kind::Fixed(new), Kind::Fixed(kept)) => Kind::Fixed(new.with_use_of(kept)),
            (Kind::Rolling(new), Kind::Rolling(kept)) => Kind::Rolling(new.with_use_of(kept)),
            (Kind::Sliding(new), Kind::Sliding(kept)) => Kind::Sliding(new.with_use_of(kept)),
            (Kind::Spacing(new), Kind::Spacing(kept)) => Kind::Spacing(new.with_use_of(kept)),
            (new, _) => new,
        };
        Counter { kind, ..self }
    }

    /// Whether the clock is so far behind the state that it must have been set back.
    pub(super) fn stepped_back(&self, now: Ticks) -> bool {
        let behind = self.count().newest().map_or(0, |newest| newest - now);
        behind > 0 && !(behind <= self.second && self.count().is_within_refill(behind))
    }

    /// Brings the state to `now` and gives the instant that counts: `now`, or the state's newest
    /// instant when the reading is merely late.
    pub(super) fn settle(&mut self, now: Ticks) -> Ticks {
        if self.stepped_back(now) {
            self.count_mut().restamp(now);
        }
        let at = self.count().newest().map_or(now, |newest| newest.max(now));
        self.count_mut().advance(at);
        at
    }

    /// Units in use at a later instant if nobody asks until then.
    pub(super) fn used_at(&self, at: Ticks) -> Exact {
        let mut later = self.clone();
        later.count_mut().advance(at);
        later.count().used(at)
    }

    pub(super) fn charge(&mut self, cost: &Exact, at: Ticks) {
        self.count_mut().charge(cost, at);
    }

    pub(super) fn refund(&mut self, cost: &Exact, taken_at: Ticks) -> bool {
        self.count_mut().refund(cost, taken_at)
    }

    fn count(&self) -> &dyn Count {
        match &self.kind {
            Kind::Bucket(count) => count,
            Kind::Fixed(count) => count,
            Kind::Rolling(count) => count,
            Kind::Sliding(count) => count,
            Kind::Spacing(count) => count,
        }
    }

    fn count_mut(&mut self) -> &mut dyn Count {
        match &mut self.kind {
            Kind::Bucket(count) => count,
            Kind::Fixed(count) => count,
            Kind::Rolling(count) => count,
            Kind::Sliding(count) => count,
            Kind::Spacing(count) => count,
        }
    }
}

/// A counter, what it holds at most, and where it is kept.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) full: Exact,
    pub(super) counter: Counter,
    pub(super) place: Place,
}

impl Meter {
    /// Whether this is a limit's spacing and not its count.
    pub(super) fn is_spacing(&self) -> bool {
        matches!(self.counter.kind, Kind::Spacing(_))
    }

    /// What a cost is here: a spacing has room for one request, whatever that costs.
    pub(super) fn price(&self, cost: Amount) -> Exact {
        match (self.is_spacing(), cost.is_zero()) {
            (_, true) => Exact::zero(),
            (true, false) => Exact::one(),
            (false, false) => exact(cost),
        }
    }
}

const SECOND: Span = Span::from_secs(1);

/// Whole ticks in a span.
fn ticks(span: Span, tick: Span) -> Ticks {
    Ticks::from(span.as_nanos() / tick.as_nanos())
}
