//! Limits from the command line, and the choice of what to play through.

use std::sync::Arc;

use tidegate::{Align, Limit, Policy, PolicyTable, Quota, parse_span};

use super::args::ReplayArgs;
use super::error::{LimitFault, ReplayError, suggestion};
use crate::config::{Kind, QuotaFault};
use crate::constants::DEFAULT_POLICY;

/// The policy's name when limits come from the command line.
const COMMAND_LINE_POLICY: &str = "command-line";

/// The policy to play through: the limits of the command line, else a configured one.
pub(super) fn choose_policy(
    args: &ReplayArgs,
    policies: &PolicyTable,
) -> Result<Arc<Policy>, ReplayError> {
    if !args.limits.is_empty() {
        let limits = parse_limits(&args.limits)?;
        return Ok(Arc::new(Policy::new(COMMAND_LINE_POLICY, limits)?));
    }
    let name = args.policy.as_deref().unwrap_or(DEFAULT_POLICY);
    policies.lookup(name).cloned().ok_or_else(|| {
        let mut known: Vec<&str> = policies.iter().map(|policy| policy.name().as_str()).collect();
        known.sort_unstable();
        ReplayError::UnknownPolicy {
            name: name.to_owned(),
            suggestion: suggestion(name, known.iter().copied()),
            known: match known.is_empty() {
                true => "none; give a limit, such as --limit '100/minute'".to_owned(),
                false => known.join(", "),
            },
        }
    })
}

/// Reads limits; those without a name are called by their algorithm, and by their place when
/// another is called that too.
fn parse_limits(texts: &[String]) -> Result<Vec<Limit>, ReplayError> {
    let mut taken: Vec<String> = Vec::new();
    let mut limits = Vec::new();
    for (place, text) in (1..).zip(texts) {
        let fault = |reason| ReplayError::Limit { text: text.clone(), reason };
        let words = LimitWords::parse(text).map_err(fault)?;
        let name = match words.name {
            Some(name) => name.to_owned(),
            None => match words.kind.name() {
                own if taken.iter().any(|name| name == own) => format!("{own}-{place}"),
                own => own.to_owned(),
            },
        };
        limits.push(words.limit(&name).map_err(fault)?);
        taken.push(name);
    }
    Ok(limits)
}

/// A limit as written: `[NAME=][ALGORITHM] QUOTA [min_interval SPAN]`.
#[derive(Debug)]
struct LimitWords<'a> {
    name: Option<&'a str>,
    kind: Kind,
    quota: &'a str,
    min_interval: Option<&'a str>,
}

impl<'a> LimitWords<'a> {
    fn parse(text: &'a str) -> Result<LimitWords<'a>, LimitFault> {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) => (Some(name.trim()), rest.trim()),
            None => (None, text.trim()),
        };
        let (rest, min_interval) = match rest.split_once("min_interval") {
            Some((rest, interval)) => (rest.trim(), Some(interval.trim())),
            None => (rest, None),
        };
        let named = rest.starts_with(|first: char| first.is_alphabetic());
        let (kind, quota) = match rest.split_once(char::is_whitespace) {
            Some((word, quota)) if named => (algorithm_named(word)?, quota.trim()),
            _ if named => (algorithm_named(rest)?, ""),
            _ => (Kind::TokenBucket, rest),
        };
        Ok(LimitWords { name, kind, quota, min_interval })
    }

    fn limit(&self, name: &str) -> Result<Limit, LimitFault> {
        let quota: Quota = self.quota.parse()?;
        let limit = self.kind.limit(name, &quota, Align::Epoch).map_err(|fault| match fault {
            QuotaFault::Burst => LimitFault::Burst,
            QuotaFault::Limit(error) => LimitFault::Limit(error),
        })?;
        match self.min_interval {
            Some(interval) => Ok(limit.with_min_interval(parse_span(interval)?)?),
            None => Ok(limit),
        }
    }
}

/// The algorithm of this name or alias; a dash is as good as an underscore.
fn algorithm_named(word: &str) -> Result<Kind, LimitFault> {
    let plain = word.to_ascii_lowercase().replace('-', "_");
    Kind::named(&plain).ok_or_else(|| LimitFault::Algorithm(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;

    fn described(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let limits = parse_limits(&texts).map_err(|error| error.to_string())?;
        Ok(limits
            .iter()
            .map(|limit| format!("{}: {}", limit.name(), explain::limit(limit)))
            .collect())
    }

    #[test]
    fn limits_are_read_as_people_write_them() {
        for (text, expected) in [
            ("100/minute burst 20", "token_bucket: 20 at once, then 100 per minute"),
            ("fixed_window 50/day", "fixed_window: at most 50 per UTC day"),
            ("Rolling-Window 100/1h", "rolling_window: at most 100 in any 1 h"),
            ("sliding_log 5 per second", "rolling_window: at most 5 in any 1 s"),
            (
                "daily = sliding_window 1e3/d",
                "daily: at most 1000 in 1 day, estimated from this window and the one before",
            ),
            (
                "gcra 5/s min_interval 100ms",
                "token_bucket: 5 at once, then 5 per second, at least 100 ms apart",
            ),
        ] {
            assert_eq!(described(&[text]), Ok(vec![expected.to_owned()]), "{text}");
        }
    }

    #[test]
    fn limits_without_names_get_their_own() {
        let both = described(&["5/s", "100/h", "b=1/s"]).expect("three limits");
        assert!(both[1].starts_with("token_bucket-2: "), "{both:?}");
    }

    #[test]
    fn bad_limits_say_what_would_be_right() {
        for (text, part) in [
            ("", "write it like 100/minute"),
            ("fixed_window", "write it like 100/minute"),
            ("fixed 50/day", "no algorithm is named \"fixed\""),
            ("fixed_window 50/day burst 5", "burst belongs to token_bucket"),
            ("0/s", "must be above 0"),
            ("fixed_window 5/100us", "is no window"),
            ("a b=5/s", "is no name"),
            ("5/s min_interval soon", "no length of time"),
        ] {
            let error = described(&[text]).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let twice = parse_limits(&["a=5/s".to_owned(), "a=6/s".to_owned()]).expect("limits");
        assert!(Policy::new("p", twice).is_err());
    }
}
