//! Random requests at random times, played on a store and on the model side by side.

use std::fmt;
use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::select;
use tidegate::{
    Amount, Check, Cost, Key, Limit, Mode, Policy, Rate, Span, Store, Timestamp, Verdict,
};

use crate::oracle::Oracle;
use crate::rig::Rig;

/// Where every scenario begins: the start of a day, in 2024.
const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);
/// The latest time that a scenario reaches (in 2200), so that the longest wait after it is still an
/// instant.
const END: Timestamp = Timestamp::from_nanos(7_258_000_000_000_000_000);

/// Two policies and a list of moves.
#[derive(Clone)]
pub struct Scenario {
    policies: Vec<Policy>,
    moves: Vec<(Pause, Ask)>,
}

/// How the clock moves before a request.
#[derive(Clone, Copy, Debug)]
enum Pause {
    None,
    Tick,
    Forward(u64),
    Back(u64),
    /// Back by the first limit's window, and so many ticks more.
    BackWindow(u64),
    /// To exactly when the last denial said, so many ticks early.
    Obey(u64),
    /// To exactly when the last answer said that the limit is full, so many ticks early.
    Refill(u64),
    /// So many eighths of the first limit's window.
    Eighths(u64),
    /// To the next multiple of the first limit's window, so many ticks early.
    Boundary(u64),
}

/// What is asked.
#[derive(Clone, Debug)]
enum Ask {
    Take(Vec<Question>),
    TakeEach(Vec<Question>),
    /// Gives back an earlier request, counted from the first.
    Refund(usize),
    Reset(Question),
}

/// One check, before its policy is known.
#[derive(Clone, Copy, Debug)]
struct Question {
    key: usize,
    policy: usize,
    price: Price,
    mode: Mode,
}

/// A cost, some of them relative to the most that the policy's first limit holds.
#[derive(Clone, Copy, Debug)]
enum Price {
    Micros(u64),
    Eighths(u64),
    Above(u64),
}

/// Any scenario with so many moves.
///
/// Limits are of every algorithm, small and large, with and without spacing; costs whole and
/// fractional; the clock stands, goes on, waits as told, and is set back.
pub fn any(moves: Range<usize>) -> impl Strategy<Value = Scenario> {
    let policy = |name: &'static str| {
        prop::collection::vec(limit(), 1..4).prop_map(move |limits| named(name, limits))
    };
    let moves = prop::collection::vec((pause(), ask()), moves);
    ((policy("a"), policy("b")), moves)
        .prop_map(|((a, b), moves)| Scenario { policies: vec![a, b], moves })
}

/// A policy of these limits, which get names of their own.
fn named(name: &str, limits: Vec<Algorithmic>) -> Policy {
    let names = ["first", "second", "third"];
    let limits = limits.into_iter().zip(names);
    Policy::new(name, limits.map(|(limit, name)| limit.build(name))).expect("distinct names")
}

/// A limit without a name.
#[derive(Clone, Copy, Debug)]
struct Algorithmic {
    algorithm: usize,
    max: Amount,
    count: Amount,
    window: Span,
    min_interval: Option<Span>,
}

impl Algorithmic {
    fn build(self, name: &str) -> Limit {
        let (max, window) = (self.max, self.window);
        let limit = match self.algorithm {
            0 => bucket(name, max, self.count, window),
            1 => Limit::fixed_window(name, max, window),
            2 => Limit::fixed_window_from_first(name, max, window),
            3 => Limit::rolling_window(name, max, window),
            _ => Limit::sliding_window(name, max, window),
        }
        .expect("numbers within the domain");
        match self.min_interval {
            Some(interval) => limit.with_min_interval(interval).expect("a window"),
            None => limit,
        }
    }
}

/// The bucket nearest to these numbers that is within the domain.
fn bucket(
    name: &str,
    max: Amount,
    count: Amount,
    period: Span,
) -> Result<Limit, tidegate::LimitError> {
    let rate = Rate::per(count, period).and_then(|rate| rate.nearest_for(max));
    let plain = Rate::per(Amount::ONE, Span::from_secs(1)).expect("one a second");
    Limit::token_bucket(name, max, rate.unwrap_or(plain))
        .or_else(|_| Limit::token_bucket(name, max, plain))
}

/// Any limit.
fn limit() -> impl Strategy<Value = Algorithmic> {
    let micros = prop_oneof![
        6 => select(&[1_u64, 2, 3, 5, 10, 17]).prop_map(|units| units * 1_000_000),
        2 => 1_u64..20_000_000,
        1 => select(&[0_u64, 1, 999_999, 1_000_001]),
        1 => select(&[1_000_000_u64, 4_503_599_627]).prop_map(|units| units * 1_000_000),
    ];
    let window = prop_oneof![
        4 => select(&[1_000_u64, 5_000, 1_000_000, 7_000_000, 60_000_000]),
        2 => 1_000_u64..10_000_000,
        1 => select(&[86_400_000_000_u64, 315_360_000_000_000]),
    ]
    .prop_map(Span::from_micros);
    let spacing = prop_oneof![
        4 => Just(None),
        1 => select(&[1_u64, 250, 3_000]).prop_map(|millis| Some(Span::from_millis(millis))),
    ];
    let count = select(&[1_u64, 3, 10, 7_000]).prop_map(Amount::from_units);
    (0_usize..5, micros, count, window, spacing).prop_map(
        |(algorithm, max, count, window, min_interval)| Algorithmic {
            algorithm,
            max: Amount::from_micros(max),
            count,
            window,
            min_interval,
        },
    )
}

fn pause() -> impl Strategy<Value = Pause> {
    prop_oneof![
        4 => Just(Pause::None),
        2 => Just(Pause::Tick),
        3 => (1_u64..3_000_000_000).prop_map(Pause::Forward),
        2 => (1_u64..200_000_000_000).prop_map(Pause::Forward),
        1 => (1_u64..400_000_000_000_000_000).prop_map(Pause::Forward),
        2 => (1_u64..1_500_000_000).prop_map(Pause::Back),
        1 => (1_u64..100_000_000_000).prop_map(Pause::Back),
        // The most that a clock is late, and a little more.
        1 => select(&[1_000_000_000_u64, 1_000_001_000]).prop_map(Pause::Back),
        1 => (1_u64..50_000_000_000_000_000).prop_map(Pause::Back),
        1 => (0_u64..2).prop_map(Pause::BackWindow),
        4 => (0_u64..2).prop_map(Pause::Obey),
        2 => (0_u64..2).prop_map(Pause::Refill),
        4 => (1_u64..17).prop_map(Pause::Eighths),
        2 => (0_u64..2).prop_map(Pause::Boundary),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let some = || prop::collection::vec(question(), 1..4);
    let one = prop::collection::vec(question(), 1..2);
    prop_oneof![
        8 => one.prop_map(Ask::Take),
        5 => some().prop_map(Ask::Take),
        2 => some().prop_map(Ask::TakeEach),
        2 => (0_usize..64).prop_map(Ask::Refund),
        1 => question().prop_map(Ask::Reset),
    ]
}

fn question() -> impl Strategy<Value = Question> {
    let price = prop_oneof![
        6 => Just(Price::Micros(1_000_000)),
        1 => Just(Price::Micros(0)),
        2 => (1_u64..3_000_000).prop_map(Price::Micros),
        4 => (1_u64..9).prop_map(Price::Eighths),
        1 => select(&[1_u64, 1_000_000, u64::MAX / 32]).prop_map(Price::Above),
    ];
    let mode = prop_oneof![
        7 => Just(Mode::Take),
        2 => Just(Mode::Peek),
        2 => Just(Mode::Debit),
    ];
    (0_usize..2, 0_usize..2, price, mode).prop_map(|(key, policy, price, mode)| Question {
        key,
        policy,
        price,
        mode,
    })
}

impl fmt::Debug for Scenario {
    /// Shows the numbers of the limits, one limit and one move a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for policy in &self.policies {
            for limit in policy.limits() {
                let (numbers, spacing) = (limit.algorithm(), limit.min_interval());
                writeln!(f, "{}/{}: {numbers:?} {spacing:?}", policy.name(), limit.name())?;
            }
        }
        for (pause, ask) in &self.moves {
            writeln!(f, "{pause:?} {ask:?}")?;
        }
        Ok(())
    }
}

impl Scenario {
    /// Plays every move on the store and on the model; `namespace` keeps the keys apart from those
    /// of other scenarios on the same store.
    ///
    /// # Errors
    ///
    /// What the two disagreed on, or the store's failure.
    pub fn play<R: Rig>(&self, rig: &R, namespace: &str) -> Result<(), String> {
        let mut stage = Stage {
            rig,
            oracle: Oracle::new(rig.tick()),
            now: START,
            last: None,
            history: Vec::new(),
            keys: ["alice", "bob"].map(|name| format!("{namespace}/{name}")),
        };
        for (number, (pause, ask)) in self.moves.iter().enumerate() {
            stage.pause(*pause, &self.policies[0]);
            let ask = stage.ask(ask, &self.policies);
            ask.map_err(|error| format!("move {number}, at {:?}: {error}", stage.now))?;
        }
        Ok(())
    }
}

/// A scenario being played.
struct Stage<'a, R> {
    rig: &'a R,
    oracle: Oracle,
    now: Timestamp,
    last: Option<Verdict>,
    history: Vec<(Vec<Question>, Timestamp)>,
    keys: [String; 2],
}

impl<R: Rig> Stage<'_, R> {
    fn pause(&mut self, pause: Pause, policy: &Policy) {
        let tick = self.rig.tick();
        let ticks = |count: u64| Span::from_nanos(count * tick.as_nanos());
        let whole = |nanos: u64| ticks(nanos / tick.as_nanos());
        let window = policy.limits()[0].algorithm().window();
        let last = self.last.as_ref().map(|v| (v.at(), v.decisions()[v.governing()]));
        let moved = match (pause, last) {
            (Pause::Tick, _) => self.now + tick,
            (Pause::Forward(nanos), _) => self.now + whole(nanos),
            (Pause::Back(nanos), _) => self.now - whole(nanos),
            (Pause::BackWindow(more), _) => self.now - whole(window.as_nanos()) - ticks(more),
            (Pause::Eighths(part), _) => self.now + whole(window.as_nanos() / 8 * part),
            (Pause::Boundary(early), _) => {
                let next = (self.now + window).floor_to(window);
                Timestamp::EPOCH + whole(next.as_nanos()) - ticks(early)
            }
            (Pause::Obey(early), Some((at, decision))) => {
                let wait = decision.retry_after.unwrap_or_default();
                at + (wait - ticks(early))
            }
            (Pause::Refill(early), Some((at, decision))) => {
                at + (decision.reset_after - ticks(early))
            }
            (Pause::None | Pause::Obey(_) | Pause::Refill(_), _) => self.now,
        };
        if moved <= END {
            self.now = moved;
        }
        self.rig.set_time(self.now);
    }

    fn ask(&mut self, ask: &Ask, policies: &[Policy]) -> Result<(), String> {
        match ask {
            Ask::Take(questions) => self.decide(questions, policies, true),
            Ask::TakeEach(questions) => self.decide(questions, policies, false),
            Ask::Refund(place) => self.refund(*place, policies),
            Ask::Reset(question) => {
                let keys = self.keys.clone();
                let check = [question.check(&keys, policies)?];
                self.oracle.reset(&check);
                let done = self.rig.block_on(self.rig.store().reset(&check));
                done.map_err(|error| error.to_string())
            }
        }
    }

    fn decide(&mut self, asked: &[Question], policies: &[Policy], all: bool) -> Result<(), String> {
        let keys = self.keys.clone();
        let checks = checks(asked, &keys, policies)?;
        let (want, got) = if all {
            let got = self.rig.store().take(&checks);
            (self.oracle.take(self.now, &checks), got)
        } else {
            let got = self.rig.store().take_each(&checks);
            (self.oracle.take_each(self.now, &checks), got)
        };
        let got = self.rig.block_on(got).map_err(|error| error.to_string())?;
        if (got.at(), got.decisions()) != (want.at(), want.decisions()) {
            return Err(format!(
                "{} {asked:?}\nthe store says {got:#?}\nthe model says {want:#?}",
                if all { "take" } else { "take_each" },
            ));
        }
        self.history.push((asked.to_vec(), want.at()));
        self.last = Some(want);
        Ok(())
    }

    fn refund(&mut self, place: usize, policies: &[Policy]) -> Result<(), String> {
        if self.history.is_empty() {
            return Ok(());
        }
        let (asked, taken_at) = self.history[place % self.history.len()].clone();
        let took = |question: &&Question| question.mode != Mode::Peek;
        let asked: Vec<Question> = asked.iter().filter(took).copied().collect();
        let keys = self.keys.clone();
        let checks = checks(&asked, &keys, policies)?;
        self.oracle.refund(self.now, &checks, taken_at);
        let done = self.rig.block_on(self.rig.store().refund(&checks, taken_at));
        done.map_err(|error| error.to_string())
    }
}

/// The checks that these questions are.
fn checks<'a>(
    asked: &[Question],
    keys: &'a [String],
    policies: &'a [Policy],
) -> Result<Vec<Check<'a>>, String> {
    let each = asked.iter().map(|question| question.check(keys, policies));
    each.collect()
}

impl Question {
    fn check<'a>(&self, keys: &'a [String], policies: &'a [Policy]) -> Result<Check<'a>, String> {
        let policy = &policies[self.policy];
        let max = policy.limits()[0].algorithm().max().as_micros();
        let cost = match self.price {
            Price::Micros(micros) => micros,
            Price::Eighths(part) => max * part / 8,
            Price::Above(more) => max.saturating_add(more),
        };
        let key = Key::new(&keys[self.key]).map_err(|error| error.to_string())?;
        Ok(Check::take(key, policy, Cost::from_micros(cost)).with_mode(self.mode))
    }
}
