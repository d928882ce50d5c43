//! Playing a case on a store.

use std::collections::{HashMap, HashSet};

use num_rational::BigRational;
use serde_json::Value;
use tidegate::{
    Algorithm, Amount, Check, Decision, Key, Limit, Mode, Policy, Span, Store, Timestamp, Verdict,
};

use super::case::{Case, Skip, Step, amount, because};
use crate::rig::Rig;

/// Time 0 of every case: the start of a day, in 2024.
const ZERO: Timestamp = Timestamp::from_secs(20_000 * 86_400);

/// Plays a case, whose keys are its own.
pub(super) fn play<R: Rig>(rig: &R, case: &Case<'_>) -> Result<(), Skip> {
    let mut player = Player { rig, case, policies: &case.policies, taken_at: HashMap::new() };
    player.take_down_to_initial()?;
    for (number, step) in case.steps.iter().enumerate() {
        let difference = match player.step(number, step)? {
            Some(difference) => difference,
            None => continue,
        };
        let (op, t) = (step.op, step.at);
        return Err(Skip::Wrong(format!("step {number}, {op} at {t}: {difference}")));
    }
    Ok(())
}

struct Player<'a, R> {
    rig: &'a R,
    case: &'a Case<'a>,
    /// The case's limits as they now are.
    policies: &'a [Policy],
    /// When each key was last charged.
    taken_at: HashMap<String, Timestamp>,
}

/// What a step came to: the verdict, and what a look afterwards and one before it shows.
struct Seen {
    verdict: Verdict,
    before: Verdict,
    after: Verdict,
}

impl<'a, R: Rig> Player<'a, R> {
    /// Takes what the limits do not have at the start.
    fn take_down_to_initial(&self) -> Result<(), Skip> {
        self.rig.set_time(ZERO + self.case.created_at);
        let keys: HashSet<&str> = self.case.steps.iter().map(|step| step.key).collect();
        for key in keys {
            for (policy, initial) in self.policies.iter().zip(&self.case.initial) {
                let full = policy.limits()[0].algorithm().max().as_micros();
                if let Some(initial) = initial {
                    let used = Amount::from_micros(full.saturating_sub(initial.as_micros()));
                    let policies = std::slice::from_ref(policy);
                    self.ask(policies, &self.key(key), used, Mode::Take)?;
                }
            }
        }
        Ok(())
    }

    /// Does one step, and says what differs from what is expected.
    fn step(&mut self, number: usize, step: &'a Step<'_>) -> Result<Option<String>, Skip> {
        if let Some(changed) = &step.changed {
            self.policies = changed;
        }
        let key = if step.state.is_null() {
            self.key(step.key)
        } else {
            let key = self.key(&format!("{}-{number}", step.key));
            self.set_state(&key, step.state)?;
            key
        };
        self.rig.set_time(ZERO + step.at);
        let policies = self.policies;
        let before = self.ask(policies, &key, Amount::ZERO, Mode::Peek)?;
        let verdict = match step.op {
            "take" | "window_start" => {
                let verdict = self.ask(policies, &key, step.cost, Mode::Take)?;
                if verdict.is_allowed() {
                    self.taken_at.insert(key.clone(), verdict.at());
                }
                verdict
            }
            "force_take" => {
                let verdict = self.ask(policies, &key, step.cost, Mode::Debit)?;
                self.taken_at.insert(key.clone(), verdict.at());
                verdict
            }
            "refund" => {
                self.refund(&key, step.arg.unwrap_or(step.cost))?;
                self.ask(policies, &key, Amount::ZERO, Mode::Peek)?
            }
            "reset" => {
                self.reset(&key)?;
                self.ask(policies, &key, Amount::ZERO, Mode::Peek)?
            }
            _ => self.ask(policies, &key, step.cost, Mode::Peek)?,
        };
        let after = self.ask(policies, &key, Amount::ZERO, Mode::Peek)?;
        self.compare(step, &Seen { verdict, before, after })
    }

    /// Makes the two counts of a sliding window what a step says, at the window that begins at 0.
    fn set_state(&self, key: &str, state: &Value) -> Result<(), Skip> {
        let window = self.policies[0].limits()[0].algorithm().window();
        for (at, count) in [(ZERO - window, &state["previous"]), (ZERO, &state["current"])] {
            self.rig.set_time(at);
            self.ask(self.policies, key, amount(count)?, Mode::Debit)?;
        }
        Ok(())
    }

    /// What differs between what was seen and what is expected; the first of it.
    fn compare(&self, step: &Step<'_>, seen: &Seen) -> Result<Option<String>, Skip> {
        let decision = seen.verdict.decisions()[seen.verdict.governing()];
        for (name, want) in step.expect {
            let limit = decision.limit.whole_units();
            let got = match name.as_str() {
                "allow" => Value::from(seen.verdict.is_allowed()),
                "limit" => Value::from(limit),
                "remaining" => shown(remaining(&seen.verdict), want),
                "consumed" => Value::from(limit - remaining(&seen.verdict).whole_units()),
                "weighted" => Value::from(limit - remaining(&seen.before).whole_units()),
                "retry_after" => self.duration(decision.retry_after, want)?,
                "reset_after" => {
                    let resets = seen.verdict.decisions().iter().map(|d| d.reset_after);
                    self.duration(resets.max(), want)?
                }
                "balance" => self.balance(&seen.after, want)?,
                "start" => {
                    let window = self.policies[0].limits()[0].algorithm().window();
                    let start = step.at + decision.reset_after - window;
                    self.duration(Some(start), want)?
                }
                _ => continue,
            };
            if got != *want {
                return Ok(Some(format!("{name} is {got}, not {want}; {decision:?}")));
            }
        }
        Ok(None)
    }

    /// A time as it is to be compared: what is wanted when they agree within the tolerance, else the
    /// nanoseconds.
    fn duration(&self, got: Option<Span>, want: &Value) -> Result<Value, Skip> {
        let (Some(got), false) = (got, want.is_null()) else {
            return Ok(got.map_or(Value::Null, |span| format!("{span}").into()));
        };
        let tick = self.rig.tick().as_nanos();
        let nanos = self.case.unit.span(want)?.as_nanos().div_ceil(tick) * tick;
        let agree = nanos.abs_diff(got.as_nanos()) <= self.case.tolerance.as_nanos();
        Ok(if agree { want.clone() } else { format!("{got}").into() })
    }

    /// The signed level, which below zero is known only by the time until full: less than one tick's
    /// income above what that time brings in.
    fn balance(&self, after: &Verdict, want: &Value) -> Result<Value, Skip> {
        let decision = after.decisions()[0];
        let left = Value::from(decision.remaining.whole_units());
        let Some(wanted) = want.as_i64().filter(|wanted| *wanted <= 0) else {
            return Ok(left);
        };
        let limit = &self.policies[0].limits()[0];
        let lowest = level(limit, decision.reset_after)?;
        let highest = level(limit, decision.reset_after - self.rig.tick())?;
        let wanted = BigRational::from_integer(wanted.into());
        if decision.remaining.is_zero() && lowest <= wanted && wanted < highest {
            return Ok(want.clone());
        }
        Ok(Value::from(lowest.to_string()))
    }

    fn key(&self, name: &str) -> String {
        format!("vectors/{}/{name}", self.case.id)
    }

    /// Asks every limit in one request.
    fn ask(
        &self,
        policies: &[Policy],
        key: &str,
        cost: Amount,
        mode: Mode,
    ) -> Result<Verdict, Skip> {
        let checks = checks(policies, key, cost)?;
        let checks: Vec<_> = checks.into_iter().map(|check| check.with_mode(mode)).collect();
        let verdict = self.rig.block_on(self.rig.store().take(&checks));
        verdict.map_err(|error| Skip::Wrong(error.to_string()))
    }

    fn refund(&self, key: &str, cost: Amount) -> Result<(), Skip> {
        let checks = checks(self.policies, key, cost)?;
        let taken_at = self.taken_at.get(key).copied().unwrap_or(ZERO);
        let done = self.rig.block_on(self.rig.store().refund(&checks, taken_at));
        done.map_err(|error| Skip::Wrong(error.to_string()))
    }

    fn reset(&self, key: &str) -> Result<(), Skip> {
        let checks = checks(self.policies, key, Amount::ZERO)?;
        let done = self.rig.block_on(self.rig.store().reset(&checks));
        done.map_err(|error| Skip::Wrong(error.to_string()))
    }
}

/// One check for each limit.
fn checks<'a>(policies: &'a [Policy], key: &'a str, cost: Amount) -> Result<Vec<Check<'a>>, Skip> {
    let key = Key::new(key).map_err(|error| Skip::Because(error.to_string()))?;
    let check = |policy| Check::take(key, policy, cost);
    Ok(policies.iter().map(check).collect())
}

/// What is left under every limit.
fn remaining(verdict: &Verdict) -> Amount {
    let left = verdict.decisions().iter().map(|d: &Decision| d.remaining);
    left.min().unwrap_or_default()
}

/// An amount as it is to be compared: exactly where a fraction is wanted, else in whole units.
fn shown(got: Amount, want: &Value) -> Value {
    match amount(want) {
        Ok(wanted) if wanted == got => want.clone(),
        _ => Value::from(got.whole_units()),
    }
}

/// A bucket's level so long before it is full.
fn level(limit: &Limit, reset: Span) -> Result<BigRational, Skip> {
    let Algorithm::TokenBucket { capacity, rate } = limit.algorithm() else {
        return because("a window's balance below zero is nowhere shown");
    };
    let nanos = i128::from(reset.as_nanos());
    let income = BigRational::new(
        (i128::from(rate.num()) * nanos).into(),
        (i128::from(rate.den()) * 1_000_000_000).into(),
    );
    let capacity = BigRational::new(capacity.as_micros().into(), 1_000_000.into());
    Ok(capacity - income)
}
