//! What HTTP answers say about limits: the formulas of the `RateLimit` fields (IETF draft 11), of
//! `Retry-After`, and of the older `X-RateLimit-*`.
//!
//! Here are numbers and text only. Which library carries them is the caller's matter, so that every
//! middleware and the service say the same.

use crate::amount::Amount;
use crate::decision::Decision;
use crate::limit::{Algorithm, Limit};
use crate::policy::Policy;
use crate::time::Span;

/// Which rate limit fields an HTTP answer carries.
///
/// # Examples
///
/// ```
/// use tidegate::HeaderDialect;
///
/// assert!(HeaderDialect::default().has_draft() && !HeaderDialect::default().has_legacy());
/// assert!(HeaderDialect::Both.has_draft() && HeaderDialect::Both.has_legacy());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeaderDialect {
    /// `RateLimit-Policy` and `RateLimit` of the IETF draft 11.
    #[default]
    Draft11,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
    Legacy,
    /// Both of them.
    Both,
    /// Neither.
    Off,
}

impl HeaderDialect {
    /// Whether it has `RateLimit-Policy` and `RateLimit`.
    #[must_use]
    pub const fn has_draft(self) -> bool {
        matches!(self, HeaderDialect::Draft11 | HeaderDialect::Both)
    }

    /// Whether it has `X-RateLimit-*`.
    #[must_use]
    pub const fn has_legacy(self) -> bool {
        matches!(self, HeaderDialect::Legacy | HeaderDialect::Both)
    }
}

impl Policy {
    /// The value of `RateLimit-Policy`: every limit with its quota in whole units (`q`) and, from a
    /// second on, its window in seconds, rounded up (`w`).
    ///
    /// Worked out at the first call and kept. It is always a valid field value: names are letters,
    /// digits and `_.-`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Amount, Limit, Policy, Span};
    ///
    /// let daily = Limit::fixed_window("daily", Amount::from_units(10_000), Span::from_secs(86_400))?;
    /// let policy = Policy::new("api", [Limit::quota("burst", "10/s burst 50")?, daily])?;
    /// assert_eq!(policy.policy_field(), r#""burst";q=50;w=5, "daily";q=10000;w=86400"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn policy_field(&self) -> &str {
        self.field_with(|| {
            let limits: Vec<String> = self.limits().iter().map(quota).collect();
            limits.join(", ")
        })
    }
}

impl Decision {
    /// The value of `Retry-After`: the wait in whole seconds, rounded up and at least 1, so that a
    /// client that obeys is never early. None when waiting is not the answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, MemoryStore, Policy};
    ///
    /// let policy = Policy::new("login", [Limit::quota("slow", "1/minute")?])?;
    /// let limiter = Limiter::new(MemoryStore::new(), policy);
    /// assert_eq!(limiter.check("alice")?.retry_after_secs(), None);
    /// assert_eq!(limiter.check("alice")?.retry_after_secs(), Some(60));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn retry_after_secs(&self) -> Option<u64> {
        self.retry_after.map(|wait| wait.as_secs_ceil().max(1))
    }

    /// Writes the value of `RateLimit` behind what `field` holds already: the governing limit with
    /// what remains in whole units (`r`), and the seconds until the cost passes or, when it did pass,
    /// those over which a client may spread what remains and not be denied (`t`).
    ///
    /// Writes nothing when `policy` is not the one that was asked and lacks the limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, MemoryStore, Policy};
    ///
    /// let policy = Policy::new("api", [Limit::quota("burst", "10/s burst 50")?])?;
    /// let limiter = Limiter::new(MemoryStore::new(), policy.clone());
    /// let mut field = Vec::new();
    /// limiter.check("alice")?.write_state_field(&policy, &mut field);
    /// assert_eq!(field, br#""burst";r=49;t=5"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_state_field(&self, policy: &Policy, field: &mut Vec<u8>) {
        let Some(limit) = policy.limits().get(self.limit_index) else {
            return;
        };
        // What stands behind the name is written from its end on, since numbers come with their last
        // digit first, and added in one piece: every answer has this field.
        let mut tail = Tail::default();
        tail.number(self.retry_after_secs().unwrap_or_else(|| spread(limit, self)));
        tail.text(b";t=");
        tail.number(self.remaining.whole_units());
        tail.text(b"\";r=");
        field.push(b'"');
        field.extend_from_slice(limit.name().as_str().as_bytes());
        field.extend_from_slice(tail.as_bytes());
    }

    /// The value of `X-RateLimit-Reset`: whole seconds, rounded up, until the cost passes; when it did
    /// pass, until the limit is full again.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, MemoryStore, Policy};
    ///
    /// let policy = Policy::new("login", [Limit::quota("slow", "2/minute")?])?;
    /// let limiter = Limiter::new(MemoryStore::new(), policy);
    /// assert_eq!(limiter.check("alice")?.legacy_reset_secs(), 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn legacy_reset_secs(&self) -> u64 {
        self.retry_after_secs().unwrap_or_else(|| self.reset_after.as_secs_ceil())
    }
}

/// One limit of a policy: `"burst";q=50;w=5`.
fn quota(limit: &Limit) -> String {
    let (name, algorithm) = (limit.name(), limit.algorithm());
    let quota = algorithm.max().whole_units();
    let window = algorithm.window();
    // The draft has whole seconds, of which a shorter window has none.
    if window < Span::from_secs(1) {
        return format!("\"{name}\";q={quota}");
    }
    format!("\"{name}\";q={quota};w={}", window.as_secs_ceil())
}

/// The seconds over which a client may spread what remains and never be denied: one that paces
/// itself at r per t passes.
fn spread(limit: &Limit, decision: &Decision) -> u64 {
    let available = decision.remaining.whole_units();
    let spread = match *limit.algorithm() {
        Algorithm::FixedWindow { window, .. } if decision.reset_after.is_zero() => {
            window.as_secs_ceil()
        }
        Algorithm::FixedWindow { .. } => decision.reset_after.as_secs_ceil(),
        // Micro-units over (num / den) micro-units per microsecond.
        Algorithm::TokenBucket { rate, .. } => {
            seconds([decision.remaining.as_micros(), rate.den()], [rate.num(), 1_000_000])
        }
        // The least t with r / t <= max / window.
        Algorithm::RollingWindow { max, window } | Algorithm::SlidingWindow { max, window } => {
            seconds(
                [Amount::from_units(available).as_micros(), window.as_nanos()],
                [max.as_micros(), 1_000_000_000],
            )
        }
    };
    // A minimum spacing holds whatever the limit has room for.
    let spaced = limit
        .min_interval()
        .map_or(0, |interval| seconds([available, interval.as_nanos()], [1_000_000_000, 1]));
    spread.max(spaced)
}

/// One product over another, rounded up; nothing of nothing is zero.
fn seconds(part: [u64; 2], whole: [u64; 2]) -> u64 {
    let [short_part, short_whole] = [part, whole].map(|[a, b]| a.checked_mul(b));
    if let (Some(part), Some(whole)) = (short_part, short_whole) {
        return part.div_ceil(whole.max(1));
    }
    let [part, whole] = [part, whole].map(|[a, b]| u128::from(a) * u128::from(b));
    u64::try_from(part.div_ceil(whole.max(1))).unwrap_or(u64::MAX)
}

/// The end of a text, written from the back: room for two numbers and what stands before each.
struct Tail {
    bytes: [u8; Tail::ROOM],
    start: usize,
}

impl Default for Tail {
    fn default() -> Tail {
        Tail { bytes: [0; Tail::ROOM], start: Tail::ROOM }
    }
}

impl Tail {
    /// The largest number has 20 digits.
    const ROOM: usize = 2 * (20 + 4);

    fn text<const N: usize>(&mut self, text: &[u8; N]) {
        self.start -= N;
        self.bytes[self.start..self.start + N].copy_from_slice(text);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 100 {
            self.text(&DIGITS[(number % 100) as usize]);
            number /= 100;
        }
        let [tens, ones] = DIGITS[(number % 100) as usize];
        self.text(&[ones]);
        if number >= 10 {
            self.text(&[tens]);
        }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// The numbers below a hundred in two digits.
static DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[0; 2]; 100];
    let mut number: u8 = 0;
    while number < 100 {
        digits[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    digits
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Outcome;

    fn decision(remaining: u64, wait: Option<Span>, reset: Span) -> Decision {
        Decision {
            outcome: if wait.is_some() { Outcome::Deny } else { Outcome::Allow },
            limit_index: 0,
            limit: Amount::from_units(7),
            remaining: Amount::from_micros(remaining),
            retry_after: wait,
            reset_after: reset,
        }
    }

    fn state(limit: Limit, decision: &Decision) -> String {
        let policy = Policy::new("default", [limit]).expect("a policy");
        let mut field = Vec::new();
        decision.write_state_field(&policy, &mut field);
        String::from_utf8(field).expect("ASCII")
    }

    #[test]
    fn every_limit_is_listed_and_windows_below_a_second_are_left_out() {
        let units = Amount::from_units;
        let limits = [
            Limit::fixed_window("half", units(9), Span::from_millis(500)),
            Limit::rolling_window("odd", units(9), Span::from_millis(1_500)),
            Limit::quota("quick", "100/s burst 20"),
        ];
        let limits = limits.map(|limit| limit.expect("a limit"));
        let policy = Policy::new("default", limits).expect("a policy");
        let listed = "\"half\";q=9, \"odd\";q=9;w=2, \"quick\";q=20";
        assert_eq!(policy.policy_field(), listed);
        assert_eq!(policy.clone().policy_field(), listed);
    }

    #[test]
    fn a_wait_is_rounded_up_and_never_below_a_second() {
        let told = |wait| decision(0, wait, Span::ZERO).retry_after_secs();
        assert_eq!(told(None), None);
        assert_eq!(told(Some(Span::ZERO)), Some(1));
        assert_eq!(told(Some(Span::from_millis(1_001))), Some(2));
    }

    #[test]
    fn a_denial_resets_when_its_cost_passes_and_an_allowance_when_the_limit_is_full() {
        let reset = Span::from_millis(4_100);
        assert_eq!(decision(0, Some(Span::from_secs(2)), reset).legacy_reset_secs(), 2);
        assert_eq!(decision(0, None, reset).legacy_reset_secs(), 5);
    }

    #[test]
    fn a_denial_says_when_its_cost_passes() {
        let limit = Limit::quota("slow", "7/minute").expect("a limit");
        let denied = decision(0, Some(Span::from_millis(8_001)), Span::from_secs(60));
        assert_eq!(state(limit, &denied), "\"slow\";r=0;t=9");
    }

    #[test]
    fn what_remains_is_spread_by_each_algorithms_own_pace() {
        let (max, window) = (Amount::from_units(7), Span::from_secs(70));
        let half_used = decision(3_500_000, None, Span::from_secs(31));
        for (limit, told) in [
            // 3.5 units come in over 35 s.
            (Limit::quota("a", "7/70s"), "\"a\";r=3;t=35"),
            (Limit::fixed_window("a", max, window), "\"a\";r=3;t=31"),
            // Whole units at the pace of the limit.
            (Limit::rolling_window("a", max, window), "\"a\";r=3;t=30"),
            (Limit::sliding_window("a", max, window), "\"a\";r=3;t=30"),
        ] {
            let limit = limit.expect("a limit");
            assert_eq!(state(limit.clone(), &half_used), told);
            let spaced = limit.with_min_interval(Span::from_secs(20)).expect("an interval");
            assert_eq!(state(spaced, &half_used), "\"a\";r=3;t=60");
        }
        let untouched = decision(7_000_000, None, Span::ZERO);
        let fixed = Limit::fixed_window("a", max, window).expect("a limit");
        assert_eq!(state(fixed, &untouched), "\"a\";r=7;t=70");
    }

    #[test]
    fn another_policys_decision_writes_nothing() {
        let limit = Limit::quota("only", "7/s").expect("a limit");
        let other = Decision { limit_index: 1, ..decision(0, None, Span::ZERO) };
        assert_eq!(state(limit, &other), "");
    }

    #[test]
    fn numbers_are_written_as_they_are() {
        for number in [0, 7, 10, 99, 100, 999, 1_000, 1_000_000, u64::MAX] {
            let mut tail = Tail::default();
            tail.number(u64::MAX);
            tail.text(b";t=");
            tail.number(number);
            assert_eq!(tail.as_bytes(), format!("{number};t={}", u64::MAX).as_bytes());
        }
    }
}
