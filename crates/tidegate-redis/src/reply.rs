//! A script's reply becomes a verdict.

use redis::Value;
use tidegate::{Amount, Check, Decision, Limit, Outcome, Policy, Span, Timestamp, Verdict};

/// The verdict that a reply to these checks says, or nothing when it makes no sense.
pub(crate) fn verdict(reply: &Value, shapes: &[Shape]) -> Option<Verdict> {
    let Value::Array(values) = reply else {
        return None;
    };
    let mut numbers = values.iter().map(|value| match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    });
    let now = Timestamp::from_micros(numbers.next()??);
    let decisions: Option<Vec<Decision>> =
        shapes.iter().map(|shape| shape.governing(&mut numbers)).collect();
    let decisions = decisions.filter(|_| numbers.next().is_none())?;
    Some(match decisions[..] {
        [decision] => Verdict::one(now, decision),
        _ => Verdict::many(now, decisions),
    })
}

/// What of a check's policy is needed to read its answers: for each limit its most, and whether it
/// has a minimum spacing.
#[derive(Debug)]
pub(crate) struct Shape(Vec<(Amount, bool)>);

impl Shape {
    pub(crate) fn of(checks: &[Check<'_>]) -> Vec<Shape> {
        let of_limit = |limit: &Limit| (limit.algorithm().max(), limit.min_interval().is_some());
        let of_policy = |policy: &Policy| Shape(policy.limits().iter().map(of_limit).collect());
        checks.iter().map(|check| of_policy(check.policy)).collect()
    }

    /// The governing one of a check's answers.
    fn governing(&self, numbers: &mut impl Iterator<Item = Option<u64>>) -> Option<Decision> {
        let limits = self.0.iter().enumerate();
        let decisions: Option<Vec<Decision>> = limits
            .map(|(limit_index, &(limit, spaced))| {
                let own = decision(numbers, limit_index, limit)?;
                Some(if spaced {
                    own.with_spacing(&decision(numbers, limit_index, limit)?)
                } else {
                    own
                })
            })
            .collect();
        Decision::governing(decisions?)
    }
}

/// One rule's answer: outcome, remaining, wait and time until full.
fn decision(
    numbers: &mut impl Iterator<Item = Option<u64>>,
    limit_index: usize,
    limit: Amount,
) -> Option<Decision> {
    let mut number = || numbers.next().flatten();
    let (outcome, remaining, wait, reset) = (number()?, number()?, number()?, number()?);
    let outcome = match outcome {
        0 => Outcome::Allow,
        1 => Outcome::Deny,
        2 => Outcome::Exceeds,
        _ => return None,
    };
    Some(Decision {
        outcome,
        limit_index,
        limit,
        remaining: Amount::from_micros(remaining),
        retry_after: (outcome == Outcome::Deny).then(|| Span::from_micros(wait)),
        reset_after: Span::from_micros(reset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(spaced: bool) -> Vec<Shape> {
        vec![Shape(vec![(Amount::from_units(5), spaced)])]
    }

    fn reply(numbers: &[i64]) -> Value {
        Value::Array(numbers.iter().map(|number| Value::Int(*number)).collect())
    }

    #[test]
    fn a_denial_says_how_long_to_wait() {
        let verdict = verdict(&reply(&[7, 1, 2_000_000, 30, 40]), &shapes(false)).unwrap();
        assert_eq!(verdict.at(), Timestamp::from_micros(7));
        assert_eq!(verdict.decisions()[0].retry_after, Some(Span::from_micros(30)));
        assert_eq!(verdict.decisions()[0].reset_after, Span::from_micros(40));
    }

    #[test]
    fn a_spacing_is_folded_into_its_limit() {
        let verdict =
            verdict(&reply(&[7, 0, 2_000_000, 0, 9, 1, 0, 50, 50]), &shapes(true)).unwrap();
        let decision = verdict.decisions()[0];
        assert_eq!(decision.outcome, Outcome::Deny);
        assert_eq!(decision.remaining, Amount::from_units(2));
        assert_eq!(decision.retry_after, Some(Span::from_micros(50)));
    }

    #[test]
    fn replies_of_another_shape_are_nonsense() {
        for numbers in
            [&[][..], &[7], &[7, 0, 1, 2], &[7, 0, 1, 2, 3, 4], &[7, 3, 1, 2, 3], &[-7, 0, 1, 2, 3]]
        {
            assert_eq!(verdict(&reply(numbers), &shapes(false)), None, "{numbers:?}");
        }
        assert_eq!(verdict(&Value::Okay, &shapes(false)), None);
    }
}
