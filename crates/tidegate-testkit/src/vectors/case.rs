//! Reading a case: its limits as ours, its steps as ours, or why it is none for us.

use serde_json::{Map, Value};
use tidegate::{Amount, Limit, LimitError, Policy, Rate, Span};

/// Why a case was not played to its end, or with another result.
pub(super) enum Skip {
    /// It is not for us.
    Because(String),
    /// The store answered something else.
    Wrong(String),
}

/// Cases in which the contract decides otherwise than the source.
const DECIDED_OTHERWISE: [(&str, &str); 5] = [
    ("fw-zero-limit", "a limit of 0 is refused by the configuration, and exceeds in the library"),
    ("fw-no-expiry", "a window has a length"),
    ("log-2-per-min-stats", "reset_after is when everything is back, not the oldest entry"),
    ("bucket-drain-over-limit", "a denied request changes nothing"),
    ("change-limit-bucket", "state outlives a change of numbers"),
];

/// The dialects that are algorithms of ours.
const DIALECTS: [&str; 9] = [
    "gcra",
    "token_bucket",
    "token_bucket_multi",
    "fixed_window_aligned",
    "fixed_window_calendar",
    "fixed_window_lazy",
    "sliding_log",
    "sliding_counter",
    "sliding_counter_floor_prev",
];

const OPERATIONS: [&str; 7] =
    ["take", "peek", "estimate", "reset", "refund", "force_take", "window_start"];
const STEP_FIELDS: [&str; 10] =
    ["t", "op", "cost", "key", "arg", "state", "limit", "expect", "note", "notes"];
const EXPECTATIONS: [&str; 10] = [
    "allow",
    "limit",
    "remaining",
    "retry_after",
    "reset_after",
    "consumed",
    "balance",
    "weighted",
    "start",
    "dialect",
];
const PARAMS: [&str; 11] = [
    "limit",
    "period",
    "rate_count",
    "rate_period",
    "max_burst",
    "capacity",
    "refill_count",
    "refill_period",
    "initial",
    "limits",
    "created_at",
];

/// A case as it is played: a policy for each of its limits.
pub(super) struct Case<'a> {
    pub(super) id: &'a str,
    pub(super) policies: Vec<Policy>,
    /// What each limit has left at `created_at`, where it is not full.
    pub(super) initial: Vec<Option<Amount>>,
    pub(super) created_at: Span,
    pub(super) tolerance: Span,
    pub(super) unit: Unit,
    pub(super) steps: Vec<Step<'a>>,
}

/// One step.
pub(super) struct Step<'a> {
    pub(super) at: Span,
    pub(super) op: &'a str,
    pub(super) key: &'a str,
    pub(super) cost: Amount,
    pub(super) arg: Option<Amount>,
    pub(super) state: &'a Value,
    /// The case's limit with another maximum, from this step on.
    pub(super) changed: Option<Vec<Policy>>,
    pub(super) expect: &'a Map<String, Value>,
}

/// The nanoseconds that one unit of a case's time is played as.
#[derive(Clone, Copy)]
pub(super) struct Unit(u64);

impl Unit {
    /// The unit of this name; a nanosecond is played as the tick of a store that has none so short.
    fn named(name: &Value, tick: Span) -> Result<Unit, Skip> {
        Ok(Unit(match name.as_str() {
            Some("ns") => tick.as_nanos(),
            Some("us") => 1_000,
            Some("ms") => 1_000_000,
            Some("s") => 1_000_000_000,
            _ => return because(format!("time unit {name}")),
        }))
    }

    /// So many of this unit, which need not be whole.
    pub(super) fn span(self, count: &Value) -> Result<Span, Skip> {
        if let Some(whole) = count.as_u64() {
            return Ok(Span::from_nanos(whole.saturating_mul(self.0)));
        }
        let amount = amount(count)?;
        let nanos = u128::from(amount.as_micros()) * u128::from(self.0) / 1_000_000;
        Ok(Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

/// A case that is not for us.
pub(super) fn because<T>(reason: impl Into<String>) -> Result<T, Skip> {
    Err(Skip::Because(reason.into()))
}

/// Whether an algorithm's name is a dialect of one of ours.
pub(super) fn is_our_dialect(algorithm: &Value) -> bool {
    algorithm.as_str().is_some_and(|name| DIALECTS.contains(&name))
}

/// A number of units.
pub(super) fn amount(number: &Value) -> Result<Amount, Skip> {
    let text = number.to_string();
    let parsed = text.trim_matches('"').parse();
    parsed.or_else(|error| because(format!("{text} units: {error}")))
}

impl<'a> Case<'a> {
    /// Reads a case, for a store with this tick.
    pub(super) fn read(case: &'a Value, tick: Span) -> Result<Case<'a>, Skip> {
        let id = case["id"].as_str().unwrap_or_default();
        if let Some((_, reason)) = DECIDED_OTHERWISE.iter().find(|(other, _)| *other == id) {
            return because(format!("the contract decides otherwise: {reason}"));
        }
        if !is_our_dialect(&case["algorithm"]) {
            return because(format!("algorithm {}", case["algorithm"]));
        }
        let dialect = case["algorithm"].as_str().unwrap_or_default();
        let unit = Unit::named(&case["time_unit"], tick)?;
        let written = case["steps"].as_array().into_iter().flatten();
        let steps = written.clone().map(|step| Step::read(step, dialect, unit));
        let mut steps = steps.collect::<Result<Vec<_>, _>>()?;
        // A limit that travels with the requests is first the first one's.
        let first = written.clone().next().unwrap_or(&Value::Null);
        let own = with_limit_of(&case["params"], first);
        let params = limits_of(&own)?;
        for (step, written) in steps.iter_mut().zip(written).filter(|(_, w)| !w["limit"].is_null())
        {
            let params = with_limit_of(&case["params"], written);
            step.changed = Some(policies(&limits_of(&params)?, unit, dialect)?);
        }
        let optional = |params: &&Map<String, Value>| params.get("initial").map(amount).transpose();
        Ok(Case {
            id,
            policies: policies(&params, unit, dialect)?,
            initial: params.iter().map(optional).collect::<Result<_, _>>()?,
            created_at: unit.span(case["params"].get("created_at").unwrap_or(&ZERO))?,
            tolerance: unit.span(case.get("tolerance").unwrap_or(&ZERO))?,
            unit,
            steps,
        })
    }
}

/// JSON's zero, for what a case leaves out.
static ZERO: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| Value::from(0));

/// A policy for each limit.
fn policies(
    params: &[&Map<String, Value>],
    unit: Unit,
    dialect: &str,
) -> Result<Vec<Policy>, Skip> {
    let limits = params.iter().map(|params| Numbers { params, unit }.limit(dialect));
    let policies = limits.enumerate().map(|(place, limit)| {
        let policy = Policy::new(&format!("vectors-{place}"), [limit?]);
        Ok(policy.expect("one limit with a name"))
    });
    policies.collect()
}

/// A case's numbers with the maximum that a step brings along, if it does.
fn with_limit_of(params: &Value, step: &Value) -> Value {
    let mut params = params.clone();
    if let (Some(params), Some(limit)) = (params.as_object_mut(), step.get("limit")) {
        params.insert("limit".into(), limit.clone());
    }
    params
}

/// The numbers of each limit: the case's own, or those of the list in it.
fn limits_of(params: &Value) -> Result<Vec<&Map<String, Value>>, Skip> {
    let listed = params["limits"].as_array();
    let each: Vec<&Value> = listed.map_or_else(|| vec![params], |list| list.iter().collect());
    let mut limits = Vec::new();
    for params in each {
        let Some(params) = params.as_object() else {
            return because("params that are no object");
        };
        refuse_others(params, &PARAMS, "param")?;
        limits.push(params);
    }
    Ok(limits)
}

/// Skips a case that says something that we do not know.
fn refuse_others(fields: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), Skip> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(other) => because(format!("{what} {other}")),
        None => Ok(()),
    }
}

impl<'a> Step<'a> {
    fn read(step: &'a Value, dialect: &str, unit: Unit) -> Result<Step<'a>, Skip> {
        let (Some(fields), Some(op)) = (step.as_object(), step["op"].as_str()) else {
            return because("a step without op");
        };
        let Some(expect) = step["expect"].as_object() else {
            return because("a step without expect");
        };
        let aligned = ["fixed_window_aligned", "fixed_window_calendar"].contains(&dialect);
        if !OPERATIONS.contains(&op) || (op == "window_start" && !aligned) {
            return because(format!("op {op}"));
        }
        refuse_others(fields, &STEP_FIELDS, "step field")?;
        refuse_others(expect, &EXPECTATIONS, "expectation")?;
        let state = &step["state"];
        if !state.is_null() && !dialect.starts_with("sliding_counter") {
            return because("a state that is set from outside");
        }
        let cost = match step.get("cost") {
            Some(cost) => amount(cost)?,
            None if matches!(op, "peek" | "reset") => Amount::ZERO,
            None => Amount::ONE,
        };
        Ok(Step {
            at: unit.span(&step["t"])?,
            op,
            key: step["key"].as_str().unwrap_or("k"),
            cost,
            arg: step.get("arg").map(amount).transpose()?,
            state,
            changed: None,
            expect,
        })
    }
}

/// The numbers of one limit.
struct Numbers<'a> {
    params: &'a Map<String, Value>,
    unit: Unit,
}

impl Numbers<'_> {
    fn limit(&self, dialect: &str) -> Result<Limit, Skip> {
        let limit = match dialect {
            "gcra" => {
                let burst = self.amount("max_burst")? + Amount::ONE;
                self.bucket(burst, "rate_count", "rate_period")?
            }
            "token_bucket" | "token_bucket_multi" => {
                self.bucket(self.amount("capacity")?, "refill_count", "refill_period")?
            }
            windowed => {
                let (max, window) = (self.amount("limit")?, self.span("period")?);
                match windowed {
                    "fixed_window_lazy" => Limit::fixed_window_from_first("limit", max, window),
                    "sliding_log" => Limit::rolling_window("limit", max, window),
                    "sliding_counter" | "sliding_counter_floor_prev" => {
                        Limit::sliding_window("limit", max, window)
                    }
                    _ => Limit::fixed_window("limit", max, window),
                }
            }
        };
        limit.or_else(|error| because(format!("outside our domain: {error}")))
    }

    /// A bucket with its rate, which is none when it is zero.
    fn bucket(
        &self,
        capacity: Amount,
        count: &str,
        period: &str,
    ) -> Result<Result<Limit, LimitError>, Skip> {
        match Rate::per(self.amount(count)?, self.span(period)?) {
            Some(rate) => Ok(Limit::token_bucket("limit", capacity, rate)),
            None => because("a rate of zero"),
        }
    }

    fn get(&self, name: &str) -> Result<&Value, Skip> {
        let missing = || Skip::Because(format!("no param {name}"));
        self.params.get(name).ok_or_else(missing)
    }

    fn amount(&self, name: &str) -> Result<Amount, Skip> {
        amount(self.get(name)?)
    }

    fn span(&self, name: &str) -> Result<Span, Skip> {
        self.unit.span(self.get(name)?)
    }
}
