//! Checks become a script call.

use std::collections::HashMap;

use tidegate::{Algorithm, Align, Check, Limit, Mode, Span, Timestamp};

use crate::key::{Names, SPACING};
use crate::script::Call;

/// How long a state outlives its return to full.
pub(crate) const GRACE: Span = Span::from_millis(1_000);

/// How long it does under a test's clock, which the server's own expiry does not follow.
pub(crate) const TEST_GRACE: Span = Span::from_secs(60);

/// Costs above it are all alike: no limit comes near it, and Lua counts exactly up to it.
const COST_MAX: u64 = 1 << 53;

/// Whether checks stand and fall together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Together {
    All,
    Each,
}

/// One store's way of writing requests.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) prefix: &'a str,
    /// A test's time; none lets the server's count.
    pub(crate) now: Option<Timestamp>,
}

impl Writer<'_> {
    /// The call that decides checks.
    pub(crate) fn take(&self, checks: &[Check<'_>], together: Together) -> Call {
        let (mut call, places) = self.begin(checks);
        call.push(&match together {
            Together::All => "all",
            Together::Each => "each",
        });
        for (check, places) in checks.iter().zip(&places) {
            call.push(&match check.mode {
                Mode::Peek => "peek",
                Mode::Debit => "debit",
                Mode::Take => "take",
            });
            call.push_under(check, places);
        }
        call
    }

    /// The call that gives back what checks took.
    pub(crate) fn refund(&self, checks: &[Check<'_>], taken_at: Timestamp) -> Call {
        let (mut call, places) = self.begin(checks);
        call.push(&taken_at.as_micros());
        for (check, places) in checks.iter().zip(&places) {
            call.push_under(check, places);
        }
        call
    }

    /// The call that forgets what the keys of checks have used.
    pub(crate) fn reset(&self, checks: &[Check<'_>]) -> Call {
        let mut call = Call::default();
        for check in checks {
            let names = Names::new(self.prefix, check.key, check.policy);
            for rule in check.policy.limits().iter().flat_map(rules) {
                call.keys.push(names.of(rule.limit, rule.algorithm));
                call.push(&rule.algorithm);
            }
        }
        call
    }

    /// A call with the time and all rules, and for each check the places of its rules.
    fn begin(&self, checks: &[Check<'_>]) -> (Call, Vec<Vec<usize>>) {
        let mut book = Book::default();
        let places = checks
            .iter()
            .map(|check| {
                let names = Names::new(self.prefix, check.key, check.policy);
                let rules = check.policy.limits().iter().flat_map(rules);
                rules.map(|rule| book.place(&names, &rule)).collect()
            })
            .collect();
        let mut call = Call { keys: book.keys, args: Vec::new() };
        let grace = if self.now.is_some() { TEST_GRACE } else { GRACE };
        call.push(&self.now.map_or(String::new(), |now| now.as_micros().to_string()));
        call.push(&grace.as_millis_ceil());
        call.push(&book.rules.len());
        call.args.extend(book.rules.into_iter().flatten());
        (call, places)
    }
}

impl Call {
    fn push(&mut self, arg: &impl ToString) {
        self.args.push(arg.to_string());
    }

    /// A check's cost, and the rules it is under.
    fn push_under(&mut self, check: &Check<'_>, places: &[usize]) {
        self.push(&check.cost.as_micros().min(COST_MAX));
        self.push(&places.len());
        for place in places {
            self.push(place);
        }
    }
}

/// All keys and rules of a request, each once, however many checks meet there.
#[derive(Debug, Default)]
struct Book {
    keys: Vec<String>,
    /// Where each key's name is in `keys`.
    places: HashMap<String, usize>,
    rules: Vec<[String; 5]>,
    /// For each key, where its rules are in `rules`.
    rules_of: Vec<Vec<usize>>,
}

impl Book {
    /// The place of a rule over a key, counted from 1 as Lua does.
    ///
    /// A key has one rule almost always; callers who bring other numbers for the same limit get a
    /// rule of their own over the same state.
    fn place(&mut self, names: &Names, rule: &Rule<'_>) -> usize {
        let key = self.key(names.of(rule.limit, rule.algorithm));
        let [max, window, detail] = rule.numbers.map(|number| number.to_string());
        let number = (key + 1).to_string();
        let written = [number, rule.algorithm.into(), max, window, detail];
        let mut known = self.rules_of[key].iter();
        if let Some(place) = known.find(|place| self.rules[**place] == written) {
            return place + 1;
        }
        self.rules_of[key].push(self.rules.len());
        self.rules.push(written);
        self.rules.len()
    }

    /// Where a key is in `keys`.
    fn key(&mut self, name: String) -> usize {
        *self.places.entry(name).or_insert_with_key(|name| {
            self.keys.push(name.clone());
            self.rules_of.push(Vec::new());
            self.keys.len() - 1
        })
    }
}

/// What the scripts know of a limit, or of its minimum spacing.
#[derive(Debug)]
struct Rule<'a> {
    limit: &'a Limit,
    algorithm: &'static str,
    numbers: [u64; 3],
}

/// A limit's own rule, and that of its spacing if it has one.
fn rules(limit: &Limit) -> impl Iterator<Item = Rule<'_>> {
    let own =
        Rule { limit, algorithm: limit.algorithm().name(), numbers: numbers(limit.algorithm()) };
    let spacing = limit.min_interval().map(|interval| Rule {
        limit,
        algorithm: SPACING,
        numbers: [0, interval.as_micros_ceil(), 0],
    });
    std::iter::once(own).chain(spacing)
}

/// An algorithm's numbers in the order of the scripts: max, window, detail.
fn numbers(algorithm: &Algorithm) -> [u64; 3] {
    match *algorithm {
        // A bucket that holds nothing never owes anything; its rate may be finer than Lua counts.
        Algorithm::TokenBucket { capacity, .. } if capacity.is_zero() => [0, 1, 1],
        Algorithm::TokenBucket { capacity, rate } => [capacity.as_micros(), rate.num(), rate.den()],
        Algorithm::FixedWindow { max, window, align } => {
            let from_first = u64::from(align == Align::FirstRequest);
            [max.as_micros(), window.as_micros_ceil(), from_first]
        }
        Algorithm::RollingWindow { max, window } | Algorithm::SlidingWindow { max, window } => {
            [max.as_micros(), window.as_micros_ceil(), 0]
        }
    }
}
