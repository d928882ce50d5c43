//! What an algorithm is: pure steps over a state, with the time passed in.
//!
//! Asking changes nothing: every answer is worked out from the state as it was last written. Only a
//! charge, a refund, and a clock that stepped back write a state. The absent state and the default
//! state mean the same: full.
//!
//! Amounts here are plain millionths of a unit. They stay below 2^53 and their products below 2^63
//! (see `limit.rs`), so sums need no care.

mod fixed_window;
mod logs;
mod rolling_window;
mod sliding_window;
mod spacing;
mod token_bucket;

use crate::limit::Algorithm;
use crate::mode::{Fate, Mode};
use crate::time::{Span, Timestamp};

use fixed_window::{FixedWindow, WindowState};
pub(crate) use logs::Logs;
use rolling_window::RollingWindow;
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

    /// Answers one request for `cost` and takes what it takes.
    #[inline]
    fn decide(&self, state: &mut Self::State, now: Timestamp, cost: u64, mode: Mode) -> Answer {
        let wait = if cost == 0 { Some(Span::ZERO) } else { self.wait(state, now, cost) };
        self.conclude(state, now, cost, wait, mode.fate(cost, wait == Some(Span::ZERO)))
    }

    /// Does to the state what becomes of a request for `cost`, and answers it; its wait is known.
    fn conclude(
        &self,
        state: &mut Self::State,
        now: Timestamp,
        cost: u64,
        wait: Option<Span>,
        fate: Fate,
    ) -> Answer {
        match fate {
            Fate::Charged => self.charge(state, now, cost),
            Fate::Refused => self.restamp(state, now),
            Fate::Seen => {}
        }
        let charged = fate == Fate::Charged;
        let remaining = self.remaining(state, now);
        Answer { wait, charged, remaining, reset_after: self.reset_after(state, now) }
    }

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

/// An algorithm whose state is a few numbers, so that a request is answered from one settled copy: the
/// state as it would be written now.
trait Settled: Step<State: Copy> {
    /// A settled state, and what was worked out in settling it.
    type Copy: Copy;

    /// The state brought to `now`.
    fn settled(&self, state: &Self::State, now: Timestamp) -> Self::Copy;

    /// The state itself.
    fn state(&self, settled: &Self::Copy) -> Self::State;

    /// See [`Step::wait`], of a settled state.
    fn wait_settled(&self, settled: &Self::Copy, now: Timestamp, cost: u64) -> Option<Span>;

    /// See [`Step::remaining`], of a settled state.
    fn remaining_settled(&self, settled: &Self::Copy) -> u64;

    /// See [`Step::reset_after`], of a settled state.
    fn reset_settled(&self, settled: &Self::Copy, now: Timestamp) -> Span;

    /// See [`Step::charge`], of a settled state.
    fn charge_settled(&self, settled: &Self::Copy, cost: u64) -> Self::Copy;

    /// See [`Step::decide`]: the same with the state, which lies in these words, settled once. They are
    /// written only where it changes: so a denial leaves their cache line clean.
    #[inline(always)]
    fn decide_words(&self, words: &mut [u64], now: Timestamp, cost: u64, mode: Mode) -> Answer
    where
        Self::State: Words,
    {
        let state = Self::State::read(words);
        let mut settled = self.settled(&state, now);
        let (wait, fate) = self.judge(&settled, now, cost, mode);
        match fate {
            Fate::Charged => {
                settled = self.charge_settled(&settled, cost);
                self.state(&settled).write(words);
            }
            Fate::Refused => edit(words, |state| self.restamp(state, now)),
            Fate::Seen => {}
        }
        let (charged, remaining) = (fate == Fate::Charged, self.remaining_settled(&settled));
        Answer { wait, charged, remaining, reset_after: self.reset_settled(&settled, now) }
    }

    /// The wait of a request, and what becomes of it.
    #[inline(always)]
    fn judge(
        &self,
        settled: &Self::Copy,
        now: Timestamp,
        cost: u64,
        mode: Mode,
    ) -> (Option<Span>, Fate) {
        let wait = match cost {
            0 => Some(Span::ZERO),
            cost => self.wait_settled(settled, now, cost),
        };
        (wait, mode.fate(cost, wait == Some(Span::ZERO)))
    }

    /// See [`Step::conclude`]: the same with the state settled once.
    #[inline]
    fn conclude_settled(
        &self,
        state: &mut Self::State,
        now: Timestamp,
        cost: u64,
        wait: Option<Span>,
        fate: Fate,
    ) -> Answer {
        let mut settled = self.settled(state, now);
        match fate {
            Fate::Charged => {
                settled = self.charge_settled(&settled, cost);
                *state = self.state(&settled);
            }
            Fate::Refused => self.restamp(state, now),
            Fate::Seen => {}
        }
        let (charged, remaining) = (fate == Fate::Charged, self.remaining_settled(&settled));
        Answer { wait, charged, remaining, reset_after: self.reset_settled(&settled, now) }
    }
}

/// Writes the steps of an algorithm whose state is settled once: what is asked of a state is asked of
/// its settled copy.
macro_rules! settle_first {
    () => {
        #[inline]
        fn conclude(
            &self,
            state: &mut Self::State,
            now: Timestamp,
            cost: u64,
            wait: Option<Span>,
            fate: Fate,
        ) -> Answer {
            self.conclude_settled(state, now, cost, wait, fate)
        }

        fn wait(&self, state: &Self::State, now: Timestamp, cost: u64) -> Option<Span> {
            self.wait_settled(&self.settled(state, now), now, cost)
        }

        fn remaining(&self, state: &Self::State, now: Timestamp) -> u64 {
            self.remaining_settled(&self.settled(state, now))
        }

        fn reset_after(&self, state: &Self::State, now: Timestamp) -> Span {
            self.reset_settled(&self.settled(state, now), now)
        }

        fn charge(&self, state: &mut Self::State, now: Timestamp, cost: u64) {
            *state = self.state(&self.charge_settled(&self.settled(state, now), cost));
        }
    };
}
use settle_first;

/// What one rule answers to one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// The time until the cost passes: none at all when it passes now, nothing when it never does.
    pub(crate) wait: Option<Span>,
    /// Whether the cost was taken.
    pub(crate) charged: bool,
    /// What is left.
    pub(crate) remaining: u64,
    /// The time until the state is full.
    pub(crate) reset_after: Span,
}

/// How a clock that reads `now` stands against a state last written at `stored`, as the instant from
/// which to count: `now`, or `stored` when the clock is behind it by so little that it was read late.
/// A clock further behind stepped back; then what was written later than `now` counts as of `now`.
///
/// `full` is the time the limit takes to fill: no lock-out may outlast it for long.
fn count_from(now: Timestamp, stored: Timestamp, full: Span) -> Timestamp {
    let lag = stored.since(now);
    if lag <= LATE_AT_MOST && lag <= full { now.max(stored) } else { now }
}

/// A state that is a few numbers: how it lies in a store's memory. All zeros is full.
trait Words: Copy + PartialEq {
    /// How many words it takes.
    const COUNT: usize;

    /// Reads it; missing words count as zero.
    fn read(words: &[u64]) -> Self;

    /// Writes it.
    fn write(self, words: &mut [u64]);
}

/// The first words; zeros where there are fewer.
#[inline]
fn first<const N: usize>(words: &[u64]) -> [u64; N] {
    words.first_chunk().copied().unwrap_or([0; N])
}

/// Writes these values over the first words.
#[inline]
fn put<const N: usize>(words: &mut [u64], values: [u64; N]) {
    if let Some(words) = words.first_chunk_mut() {
        *words = values;
    }
}

/// What is asked of every kind of limit: one of the algorithms, or a minimum spacing.
///
/// Its state for one key lies in a slice of words; what does not fit there is kept in [`Logs`], and
/// the words name it.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Bucket(TokenBucket),
    Window(FixedWindow),
    Log(RollingWindow),
    Sliding(SlidingWindow),
    Spacing(Spacing),
}

/// Asks one question of a rule and the state in these words.
macro_rules! ask {
    ($rule:expr, $words:expr, $logs:expr, $step:ident, $state:ident => $answer:expr) => {
        match $rule {
            Rule::Bucket($step) => {
                let $state = &BucketState::read($words);
                $answer
            }
            Rule::Window($step) => {
                let $state = &WindowState::read($words);
                $answer
            }
            Rule::Log($step) => {
                let $state = $logs.log($words);
                $answer
            }
            Rule::Sliding($step) => {
                let $state = &SlidingState::read($words);
                $answer
            }
            Rule::Spacing($step) => {
                let $state = &SpacingState::read($words);
                $answer
            }
        }
    };
}

/// Has a rule change the state in these words.
macro_rules! change {
    ($rule:expr, $words:expr, $logs:expr, $step:ident, $state:ident => $change:expr) => {
        match $rule {
            Rule::Bucket($step) => edit($words, |$state: &mut BucketState| $change),
            Rule::Window($step) => edit($words, |$state: &mut WindowState| $change),
            Rule::Log($step) => {
                let $state = $logs.log_mut($words);
                $change
            }
            Rule::Sliding($step) => edit($words, |$state: &mut SlidingState| $change),
            Rule::Spacing($step) => edit($words, |$state: &mut SpacingState| $change),
        }
    };
}

/// Reads a state, has it changed, and writes it back if it was.
#[inline]
fn edit<S: Words, T>(words: &mut [u64], change: impl FnOnce(&mut S) -> T) -> T {
    let before = S::read(words);
    let mut state = before;
    let result = change(&mut state);
    // A denial leaves the state as it was; not writing it keeps its cache line clean.
    if state != before {
        state.write(words);
    }
    result
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

    /// Whether the state lies in [`Logs`], and its words only name it.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self, Rule::Log(_))
    }

    /// How many words a state takes.
    pub(crate) fn words(&self) -> usize {
        match self {
            Rule::Bucket(_) => BucketState::COUNT,
            Rule::Window(_) => WindowState::COUNT,
            Rule::Log(_) => Logs::WORDS,
            Rule::Sliding(_) => SlidingState::COUNT,
            Rule::Spacing(_) => SpacingState::COUNT,
        }
    }

    /// See [`Step::decide`].
    #[inline(always)]
    pub(crate) fn decide(
        &self,
        words: &mut [u64],
        logs: &mut Logs,
        now: Timestamp,
        cost: u64,
        mode: Mode,
    ) -> Answer {
        match self {
            Rule::Bucket(step) => step.decide_words(words, now, cost, mode),
            Rule::Window(step) => step.decide_words(words, now, cost, mode),
            _ => self.decide_larger(words, logs, now, cost, mode),
        }
    }

    /// See [`Step::decide`]. Kept out of the way of the two algorithms whose steps are few.
    #[inline(never)]
    fn decide_larger(
        &self,
        words: &mut [u64],
        logs: &mut Logs,
        now: Timestamp,
        cost: u64,
        mode: Mode,
    ) -> Answer {
        match self {
            Rule::Sliding(step) => step.decide_words(words, now, cost, mode),
            _ => change!(self, words, logs, step, state => step.decide(state, now, cost, mode)),
        }
    }

    /// See [`Step::conclude`].
    #[inline]
    pub(crate) fn conclude(
        &self,
        words: &mut [u64],
        logs: &mut Logs,
        now: Timestamp,
        cost: u64,
        (wait, fate): (Option<Span>, Fate),
    ) -> Answer {
        change!(self, words, logs, step, state => step.conclude(state, now, cost, wait, fate))
    }

    /// See [`Step::wait`].
    pub(crate) fn wait(
        &self,
        words: &[u64],
        logs: &Logs,
        now: Timestamp,
        cost: u64,
    ) -> Option<Span> {
        ask!(self, words, logs, step, state => step.wait(state, now, cost))
    }

    /// See [`Step::remaining`].
    pub(crate) fn remaining(&self, words: &[u64], logs: &Logs, now: Timestamp) -> u64 {
        ask!(self, words, logs, step, state => step.remaining(state, now))
    }

    /// See [`Step::reset_after`].
    pub(crate) fn reset_after(&self, words: &[u64], logs: &Logs, now: Timestamp) -> Span {
        ask!(self, words, logs, step, state => step.reset_after(state, now))
    }

    /// See [`Step::charge_shared`].
    pub(crate) fn charge_shared(
        &self,
        words: &mut [u64],
        logs: &mut Logs,
        now: Timestamp,
        cost: u64,
    ) {
        change!(self, words, logs, step, state => step.charge_shared(state, now, cost));
    }

    /// In which fraction of a millionth the amounts in its words are counted, as its denominator.
    pub(crate) fn scale(&self) -> u64 {
        match self {
            Rule::Bucket(step) => step.scale(),
            Rule::Window(_) | Rule::Log(_) | Rule::Sliding(_) | Rule::Spacing(_) => 1,
        }
    }

    /// How fast its amounts come back: a rate's numerator, or a window's nanoseconds.
    pub(crate) fn pace(&self) -> u64 {
        match self {
            Rule::Bucket(step) => step.pace(),
            Rule::Window(step) => step.window().as_nanos(),
            Rule::Log(step) => step.window().as_nanos(),
            Rule::Sliding(step) => step.window().as_nanos(),
            Rule::Spacing(step) => step.interval().as_nanos(),
        }
    }

    /// Converts words written when the scale was another.
    pub(crate) fn convert(&self, words: &mut [u64], scale: u64) {
        if let Rule::Bucket(step) = self {
            edit(words, |state| step.convert(state, scale));
        }
    }

    /// See [`Step::refund`].
    pub(crate) fn refund(
        &self,
        words: &mut [u64],
        logs: &mut Logs,
        now: Timestamp,
        cost: u64,
        taken_at: Timestamp,
    ) {
        change!(self, words, logs, step, state => step.refund(state, now, cost, taken_at));
    }

    /// See [`Step::restamp`].
    pub(crate) fn restamp(&self, words: &mut [u64], logs: &mut Logs, now: Timestamp) {
        change!(self, words, logs, step, state => step.restamp(state, now));
    }
}
