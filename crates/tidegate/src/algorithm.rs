//! What an algorithm is: pure steps over a state, with the time passed in.
//!
//! Asking changes nothing: every answer is worked out from the state as it was last written. Only a
//! charge, a refund, and a clock that stepped back write a state. The absent state and the default
//! state mean the same: full.
//!
//! Amounts here are plain millionths of a unit. They stay below 2^53 and their products below 2^63
//! (see `limit.rs`), so sums need no care.

mod fixed_window;
mod rolling_window;
mod sliding_window;
mod spacing;
mod token_bucket;

use crate::limit::Algorithm;
use crate::time::{Span, Timestamp};

use fixed_window::{FixedWindow, WindowState};
use rolling_window::{Log, RollingWindow};
use sliding_window::{SlidingState, SlidingWindow};
use spacing::{Spacing, SpacingState};
use token_bucket::{BucketState, TokenBucket};

/// How far a clock may lag behind a state and still count as read late: another thread, or another
/// node, wrote the state between the reading of the clock and its use. What lags further stepped.
const LATE_AT_MOST: Span = Span::from_secs(1);

/// One algorithm with its numbers.
pub(crate) trait Step {
    /// What is remembered of one key; the default is full.
    type State: Default;

    /// The time after `now` until `cost` passes if nobody else asks; nothing when it never does.
    fn wait(&self, state: &Self::State, now: Timestamp, cost: u64) -> Option<Span>;

    /// What is left; zero in debt.
    fn remaining(&self, state: &Self::State, now: Timestamp) -> u64;

    /// The time after `now` until the state is full if nobody asks.
    fn reset_after(&self, state: &Self::State, now: Timestamp) -> Span;

    /// Takes `cost`, down to one full limit below zero.
    fn charge(&self, state: &mut Self::State, now: Timestamp, cost: u64);

    /// Takes `cost` from a state that many keys share: what each of them used must count for at least
    /// as long as it would in a state of its own, whatever the others use.
    fn charge_shared(&self, state: &mut Self::State, now: Timestamp, cost: u64) {
        self.charge(state, now, cost);
    }

    /// Gives back what was taken at `taken_at`, never above full; nothing when its window is over.
    fn refund(&self, state: &mut Self::State, now: Timestamp, cost: u64, taken_at: Timestamp);

    /// Stamps the state anew when the clock stepped back behind it, and otherwise does nothing.
    ///
    /// Without it a key that is denied, and so not written, would stay locked out until the clock
    /// is back where it was.
    fn restamp(&self, state: &mut Self::State, now: Timestamp);
}

/// How a clock that reads `now` stands against a state last written at `stored`, as the instant from
/// which to count: `now`, or `stored` when the clock is behind it by so little that it was read late.
/// A clock further behind stepped back; then what was written later than `now` counts as of `now`.
///
/// `full` is the time the limit takes to fill: no lock-out may outlast it for long.
fn count_from(now: Timestamp, stored: Timestamp, full: Span) -> Timestamp {
    let lag = stored.since(now);
    if lag <= LATE_AT_MOST && lag <= full {
        now.max(stored)
    } else {
        now
    }
}

/// The state of one rule for one key.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Bucket(BucketState),
    Window(WindowState),
    Log(Box<Log>),
    Sliding(SlidingState),
    Spacing(SpacingState),
}

/// What is asked of every kind of limit: one of the algorithms, or a minimum spacing.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Bucket(TokenBucket),
    Window(FixedWindow),
    Log(RollingWindow),
    Sliding(SlidingWindow),
    Spacing(Spacing),
}

/// Calls one step method on a rule and the state that belongs to it. A state of another kind cannot
/// be met, since a slot's identity includes the rule's kind; if it were, it would count as full.
macro_rules! on {
    ($rule:expr, $state:expr, $step:ident, $inner:ident => $call:expr) => {
        match ($rule, $state) {
            (Rule::Bucket($step), State::Bucket($inner)) => $call,
            (Rule::Window($step), State::Window($inner)) => $call,
            (Rule::Log($step), State::Log($inner)) => $call,
            (Rule::Sliding($step), State::Sliding($inner)) => $call,
            (Rule::Spacing($step), State::Spacing($inner)) => $call,
            (rule, state) => unreachable!("{rule:?} was given {state:?}"),
        }
    };
}

impl Rule {
    /// The steps of this algorithm.
    pub(crate) fn new(algorithm: &Algorithm) -> Rule {
        match *algorithm {
            Algorithm::TokenBucket { capacity, rate } => {
                Rule::Bucket(TokenBucket::new(capacity, rate))
            }
            Algorithm::FixedWindow { max, window, align } => {
                Rule::Window(FixedWindow::new(max, window, align))
            }
            Algorithm::RollingWindow { max, window } => Rule::Log(RollingWindow::new(max, window)),
            Algorithm::SlidingWindow { max, window } => {
                Rule::Sliding(SlidingWindow::new(max, window))
            }
        }
    }

    /// The steps of a minimum spacing.
    pub(crate) fn spacing(interval: Span) -> Rule {
        Rule::Spacing(Spacing::new(interval))
    }

    /// Whether this is a minimum spacing, which counts requests instead of amounts.
    pub(crate) fn is_spacing(&self) -> bool {
        matches!(self, Rule::Spacing(_))
    }

    /// The state of a key never seen.
    pub(crate) fn fresh(&self) -> State {
        match self {
            Rule::Bucket(_) => State::Bucket(BucketState::default()),
            Rule::Window(_) => State::Window(WindowState::default()),
            Rule::Log(_) => State::Log(Box::default()),
            Rule::Sliding(_) => State::Sliding(SlidingState::default()),
            Rule::Spacing(_) => State::Spacing(SpacingState::default()),
        }
    }

    /// See [`Step::wait`].
    pub(crate) fn wait(&self, state: &State, now: Timestamp, cost: u64) -> Option<Span> {
        on!(self, state, step, inner => step.wait(inner, now, cost))
    }

    /// See [`Step::remaining`].
    pub(crate) fn remaining(&self, state: &State, now: Timestamp) -> u64 {
        on!(self, state, step, inner => step.remaining(inner, now))
    }

    /// See [`Step::reset_after`].
    pub(crate) fn reset_after(&self, state: &State, now: Timestamp) -> Span {
        on!(self, state, step, inner => step.reset_after(inner, now))
    }

    /// See [`Step::charge`].
    pub(crate) fn charge(&self, state: &mut State, now: Timestamp, cost: u64) {
        on!(self, state, step, inner => step.charge(inner, now, cost));
    }

    /// See [`Step::charge_shared`].
    pub(crate) fn charge_shared(&self, state: &mut State, now: Timestamp, cost: u64) {
        on!(self, state, step, inner => step.charge_shared(inner, now, cost));
    }

    /// See [`Step::refund`].
    pub(crate) fn refund(&self, state: &mut State, now: Timestamp, cost: u64, taken: Timestamp) {
        on!(self, state, step, inner => step.refund(inner, now, cost, taken));
    }

    /// See [`Step::restamp`].
    pub(crate) fn restamp(&self, state: &mut State, now: Timestamp) {
        on!(self, state, step, inner => step.restamp(inner, now));
    }
}
