//! A model of every algorithm in exact fractions: slow, plain, and written from the contract.
//!
//! It keeps levels as fractions and finds every wait by looking for the first tick at which the
//! cost would pass, so that it shares no formula with the stores that it judges.

use std::collections::HashMap;

use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use tidegate::{Amount, Check, Decision, Limit, Mode, Outcome, Span, Timestamp, Verdict};

mod bucket;
mod counter;
mod fixed;
mod rolling;
mod sliding;
mod spacing;

use counter::{Counter, Meter};

/// Whole ticks, as an instant since the epoch or as a length.
type Ticks = i128;
/// An amount in units, or a rate in units per tick, exactly.
type Exact = BigRational;

/// Where a counter is kept: key, policy, limit, and whether it is the limit's spacing.
type Place = (Vec<u8>, String, String, bool);

/// The model: what a store whose clock ticks in `tick`s must answer.
///
/// # Examples
///
/// ```
/// use tidegate::{Check, Cost, Key, Limit, Policy, Span, Timestamp};
/// use tidegate_testkit::oracle::Oracle;
///
/// let policy = Policy::new("api", [Limit::quota("one", "1/s")?])?;
/// let check = Check::take(Key::new("alice")?, &policy, Cost::ONE);
/// let mut oracle = Oracle::new(Span::from_nanos(1));
/// let now = Timestamp::from_secs(100);
/// assert!(oracle.take(now, &[check]).is_allowed());
/// let denied = oracle.take(now, &[check]);
/// assert_eq!(denied.decisions()[0].retry_after, Some(Span::from_secs(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Oracle {
    tick: Span,
    kept: HashMap<Place, Counter>,
}

impl Oracle {
    /// A model that has seen no key.
    #[must_use]
    pub fn new(tick: Span) -> Oracle {
        Oracle { tick, kept: HashMap::new() }
    }

    /// Decides all checks together, as [`tidegate::Store::take`] does at `now`.
    pub fn take(&mut self, now: Timestamp, checks: &[Check<'_>]) -> Verdict {
        let asked: Vec<Vec<Answer>> =
            (0..checks.len()).map(|place| self.ask(now, checks, place)).collect();
        let passes = |place: usize| asked[place].iter().all(|a| a.outcome == Outcome::Allow);
        let granted =
            (0..checks.len()).all(|place| checks[place].mode != Mode::Take || passes(place));
        let decisions = checks
            .iter()
            .zip(&asked)
            .map(|(check, answers)| {
                let charged = match check.mode {
                    Mode::Take => granted,
                    Mode::Debit => true,
                    Mode::Peek => false,
                };
                self.settle_check(now, check, charged);
                self.report(now, check, answers)
            })
            .collect();
        Verdict::many(self.at(self.ticks(now)), decisions)
    }

    /// Decides each check on its own, as [`tidegate::Store::take_each`] does at `now`.
    pub fn take_each(&mut self, now: Timestamp, checks: &[Check<'_>]) -> Verdict {
        let decide = |check| self.take(now, std::slice::from_ref(check)).decisions()[0];
        let decisions = checks.iter().map(decide).collect();
        Verdict::many(self.at(self.ticks(now)), decisions)
    }

    /// Gives back, as [`tidegate::Store::refund`] does at `now`; a spacing stays, since the request was
    /// made.
    pub fn refund(&mut self, now: Timestamp, checks: &[Check<'_>], taken_at: Timestamp) {
        let (now, taken_at) = (self.ticks(now), self.ticks(taken_at));
        for check in checks {
            for limit in check.policy.limits() {
                let mut meter = self.meters(check, limit).swap_remove(0);
                meter.counter.settle(now);
                if meter.counter.refund(&exact(check.cost), taken_at) {
                    self.kept.insert(meter.place, meter.counter);
                }
            }
        }
    }

    /// Forgets, as [`tidegate::Store::reset`] does.
    pub fn reset(&mut self, checks: &[Check<'_>]) {
        for check in checks {
            for limit in check.policy.limits() {
                for meter in self.meters(check, limit) {
                    self.kept.remove(&meter.place);
                }
            }
        }
    }

    /// What each meter of a check says to its cost on top of what earlier checks of the request
    /// ask of the same state.
    fn ask(&self, now: Timestamp, checks: &[Check<'_>], place: usize) -> Vec<Answer> {
        let check = &checks[place];
        let now = self.ticks(now);
        let all = |check: &Check<'_>| -> Vec<Meter> {
            let limits = check.policy.limits().iter();
            limits.flat_map(|limit| self.meters(check, limit)).collect()
        };
        all(check)
            .into_iter()
            .map(|mut meter| {
                let mut total = meter.price(check.cost);
                for earlier in checks[..place].iter().filter(|c| c.mode != Mode::Peek) {
                    if all(earlier).iter().any(|other| other.place == meter.place) {
                        total += meter.price(earlier.cost);
                    }
                }
                let at = meter.counter.settle(now);
                if check.cost.is_zero() {
                    return Answer::ALLOW;
                }
                if total > meter.full {
                    return Answer { outcome: Outcome::Exceeds, wait: None };
                }
                let passes = |t: Ticks| meter.counter.used_at(t) + &total <= meter.full;
                match first_tick(at, passes) {
                    first if first == at => Answer::ALLOW,
                    first => Answer { outcome: Outcome::Deny, wait: Some(first - now) },
                }
            })
            .collect()
    }

    /// Charges a check's meters, or only writes down that the clock stepped back.
    fn settle_check(&mut self, now: Timestamp, check: &Check<'_>, charged: bool) {
        if check.mode == Mode::Peek || check.cost.is_zero() {
            return;
        }
        let now = self.ticks(now);
        for limit in check.policy.limits() {
            for mut meter in self.meters(check, limit) {
                if charged {
                    let at = meter.counter.settle(now);
                    let cost = meter.price(check.cost);
                    meter.counter.charge(&cost, at);
                    self.kept.insert(meter.place, meter.counter);
                } else if meter.counter.stepped_back(now) {
                    meter.counter.settle(now);
                    self.kept.insert(meter.place, meter.counter);
                }
            }
        }
    }

    /// The decision on a check, from what its meters answered and what is left in them now.
    fn report(&self, now: Timestamp, check: &Check<'_>, answers: &[Answer]) -> Decision {
        let now = self.ticks(now);
        let mut answers = answers.iter();
        let mut decisions = Vec::new();
        for (limit_index, limit) in check.policy.limits().iter().enumerate() {
            let mut worst = Answer::ALLOW;
            let mut remaining = Exact::zero();
            let mut reset = 0;
            for mut meter in self.meters(check, limit) {
                let answer = answers.next().expect("one answer for each meter");
                worst = worst.or_worse(answer);
                let at = meter.counter.settle(now);
                let used = meter.counter.used_at(at);
                if !used.is_zero() {
                    let full = first_tick(at, |t| meter.counter.used_at(t).is_zero());
                    reset = reset.max(full - now);
                }
                if !meter.is_spacing() {
                    remaining = (&meter.full - used).max(Exact::zero());
                }
            }
            decisions.push(Decision {
                outcome: worst.outcome,
                limit_index,
                limit: limit.algorithm().max(),
                remaining: amount(&remaining),
                retry_after: worst.wait.map(|wait| self.span(wait)),
                reset_after: self.span(reset),
            });
        }
        governing(&decisions)
    }

    /// The counters that a check has under one limit: the limit's own, then its spacing.
    fn meters(&self, check: &Check<'_>, limit: &Limit) -> Vec<Meter> {
        let place = |spacing| {
            (
                check.key.as_bytes().to_vec(),
                check.policy.name().to_string(),
                limit.name().to_string(),
                spacing,
            )
        };
        let mut meters = vec![Meter {
            full: exact(limit.algorithm().max()),
            counter: Counter::of(limit.algorithm(), self.tick),
            place: place(false),
        }];
        if let Some(interval) = limit.min_interval() {
            meters.push(Meter {
                full: Exact::from_integer(1.into()),
                counter: Counter::spacing(interval, self.tick),
                place: place(true),
            });
        }
        let with_use = |meter: Meter| match self.kept.get(&meter.place) {
            Some(kept) => Meter { counter: meter.counter.with_use_of(kept), ..meter },
            None => meter,
        };
        meters.into_iter().map(with_use).collect()
    }

    /// Whole ticks up to an instant.
    fn ticks(&self, at: Timestamp) -> Ticks {
        Ticks::from(at.as_nanos() / self.tick.as_nanos())
    }

    /// The instant after this many ticks.
    fn at(&self, ticks: Ticks) -> Timestamp {
        Timestamp::EPOCH + self.span(ticks)
    }

    /// A length of time of this many ticks.
    fn span(&self, ticks: Ticks) -> Span {
        let nanos = ticks * Ticks::from(self.tick.as_nanos());
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// What one meter says to a cost.
#[derive(Clone, Copy, Debug)]
struct Answer {
    outcome: Outcome,
    wait: Option<Ticks>,
}

impl Answer {
    const ALLOW: Answer = Answer { outcome: Outcome::Allow, wait: None };

    /// The worse of two answers of one limit.
    fn or_worse(self, other: &Answer) -> Answer {
        match (self.outcome, other.outcome) {
            (Outcome::Exceeds, _) | (_, Outcome::Allow) => self,
            (_, Outcome::Exceeds) | (Outcome::Allow, _) => *other,
            (Outcome::Deny, Outcome::Deny) => Answer { wait: self.wait.max(other.wait), ..self },
        }
    }
}

/// Exceeds before denials; of those the longest wait in whole microseconds; else the least share;
/// ties to the first. The wait told is the longest of all.
fn governing(decisions: &[Decision]) -> Decision {
    let share =
        |d: &Decision| exact(d.remaining) / exact(d.limit).max(exact(Amount::from_micros(1)));
    let having = |outcome| decisions.iter().filter(move |d| d.outcome == outcome);
    let least = |outcome| having(outcome).min_by_key(|d| share(d)).copied();
    let micros = |d: &Decision| d.retry_after.map(Span::as_micros_ceil);
    let wait = having(Outcome::Deny).map(|d| d.retry_after).max().flatten();
    let longest = having(Outcome::Deny)
        .max_by_key(|d| (micros(d), std::cmp::Reverse(d.limit_index)))
        .map(|d| Decision { retry_after: wait, ..*d });
    least(Outcome::Exceeds).or(longest).or(least(Outcome::Allow)).expect("a policy has a limit")
}

/// The first tick from `from` on at which `holds`, which once true stays true.
fn first_tick(from: Ticks, holds: impl Fn(Ticks) -> bool) -> Ticks {
    if holds(from) {
        return from;
    }
    let mut width = 1;
    while !holds(from + width) {
        width *= 2;
    }
    let (mut not_yet, mut holding) = (from + width / 2, from + width);
    while holding - not_yet > 1 {
        let middle = not_yet + (holding - not_yet) / 2;
        if holds(middle) {
            holding = middle;
        } else {
            not_yet = middle;
        }
    }
    holding
}

/// An amount as a fraction of units.
fn exact(amount: Amount) -> Exact {
    Exact::new(amount.as_micros().into(), 1_000_000.into())
}

/// A fraction of units, rounded down to millionths.
fn amount(units: &Exact) -> Amount {
    let micros = (units * Exact::from_integer(1_000_000.into())).floor();
    Amount::from_micros(micros.to_integer().to_u64().unwrap_or(u64::MAX))
}
