//! Settings and limits in plain words.

use std::fmt::Write;

use tidegate::{Algorithm, Align, Limit, Overflow, Rate, Span};

use crate::settings::{HeaderDialect, Note, Settings, StoreSettings};

const SECOND: Span = Span::from_secs(1);
const MINUTE: Span = Span::from_secs(60);
const HOUR: Span = Span::from_secs(3_600);
const DAY: Span = Span::from_secs(86_400);

/// Everything that settings say, in lines for people.
///
/// # Examples
///
/// ```
/// use tidegate_server::explain;
/// use tidegate_server::config::{Inputs, load};
///
/// let directory = "no-such-directory".into();
/// let settings = load(&Inputs { directory, ..Inputs::default() })?;
/// assert!(explain::settings(&settings).contains("10 at once, then 1 per second"));
/// # Ok::<(), tidegate_server::config::ConfigErrors>(())
/// ```
#[must_use]
pub fn settings(settings: &Settings) -> String {
    let mut text = policies(settings);
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<10}{value}");
    };
    line("store", store(settings));
    line("http", settings.http.to_string());
    line("grpc", settings.grpc.to_string());
    let metrics = settings.metrics.as_ref();
    line("metrics", metrics.map_or("off".into(), ToString::to_string));
    line("headers", headers(settings.ratelimit_headers).into());
    for note in &settings.notes {
        match note {
            Note::Info(note) => line("note", note.clone()),
            Note::Warn(note) => line("warning", note.clone()),
        }
    }
    text
}

/// Every policy by name, with its limits.
fn policies(settings: &Settings) -> String {
    let mut policies: Vec<_> = settings.policies.iter().collect();
    policies.sort_by_key(|policy| policy.name());
    let mut text = String::new();
    for policy in policies {
        let _ = writeln!(text, "policy {}", policy.name());
        let widest = |limit: &Limit| limit.name().as_str().len();
        let width = policy.limits().iter().map(widest).max().unwrap_or(0);
        for one in policy.limits() {
            let (name, words) = (one.name().as_str(), limit(one));
            let _ = writeln!(text, "  {name:<width$}  {words}");
        }
        text.push('\n');
    }
    text
}

fn store(settings: &Settings) -> String {
    let stance = settings.on_store_error.label();
    match &settings.store {
        StoreSettings::Memory(memory) => {
            let overflow = match memory.overflow {
                Overflow::Shared => "new keys share counts",
                Overflow::Deny => "new keys are denied",
                Overflow::Allow => "new keys are allowed, uncounted",
            };
            format!("in memory, {} keys, beyond that {overflow}", memory.max_keys)
        }
        StoreSettings::Redis(redis) => format!(
            "Redis at {}, database {}, keys begin with {}, {} a call; when it is away: {stance}",
            redis.address, redis.db, redis.prefix, redis.timeout
        ),
    }
}

fn headers(dialect: HeaderDialect) -> &'static str {
    match dialect {
        HeaderDialect::Draft11 => "RateLimit, RateLimit-Policy",
        HeaderDialect::Legacy => "X-RateLimit-Limit, -Remaining, -Reset",
        HeaderDialect::Both => "RateLimit, RateLimit-Policy; X-RateLimit-Limit, -Remaining, -Reset",
        HeaderDialect::Off => "off",
    }
}

/// What a limit allows: `10 at once, then 1 every 10 s`.
///
/// # Examples
///
/// ```
/// use tidegate::Limit;
/// use tidegate_server::explain;
///
/// let limit = Limit::quota("burst", "5 per second")?;
/// assert_eq!(explain::limit(&limit), "5 at once, then 5 per second");
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn limit(limit: &Limit) -> String {
    let mut text = match *limit.algorithm() {
        Algorithm::TokenBucket { capacity, rate } => {
            format!("{capacity} at once, then {}", pace(rate))
        }
        Algorithm::FixedWindow { max, window, align } => match align {
            Align::Epoch => format!("at most {max} per {}", aligned(window)),
            Align::FirstRequest => {
                let window = time(window);
                format!("at most {max} in each {window} that begins with a first request")
            }
        },
        Algorithm::RollingWindow { max, window } => {
            format!("at most {max} in any {}", time(window))
        }
        Algorithm::SlidingWindow { max, window } => {
            let window = time(window);
            format!("at most {max} in {window}, estimated from this window and the one before")
        }
    };
    if let Some(interval) = limit.min_interval() {
        let _ = write!(text, ", at least {} apart", time(interval));
    }
    text
}

/// A rate in the shortest exact words: `10 per second`, `1 every 10 s`, `100 per minute`.
fn pace(rate: Rate) -> String {
    let (num, den) = (u128::from(rate.num()), u128::from(rate.den()));
    if den == 1 {
        return format!("{num} per second");
    }
    let usual = [(60, "minute"), (3_600, "hour"), (86_400, "day")];
    if num > 1 {
        let whole = usual.iter().find(|(secs, _)| (num * secs) % den == 0);
        if let Some((secs, unit)) = whole {
            return format!("{} per {unit}", num * secs / den);
        }
    }
    match rate.den() {
        60 => format!("{num} per minute"),
        3_600 => format!("{num} per hour"),
        86_400 => format!("{num} per day"),
        den => format!("{num} every {}", time(Span::from_secs(den))),
    }
}

/// A window that begins at whole multiples of its length since 1970 in UTC, whatever the time zone.
fn aligned(window: Span) -> String {
    match window {
        SECOND => "second (UTC)".into(),
        MINUTE => "UTC minute".into(),
        HOUR => "UTC hour".into(),
        DAY => "UTC day".into(),
        other if DAY.as_nanos().is_multiple_of(other.as_nanos()) => {
            format!("{}, counted from 00:00 UTC", time(other))
        }
        other => format!("{}, counted from 1970-01-01 00:00 UTC", time(other)),
    }
}

/// A length of time as people write it: `10 s`, `1 min 40 s`, `1 day`.
fn time(span: Span) -> String {
    let mut text = String::new();
    for part in span.to_string().split(' ') {
        let unit = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = part.strip_suffix(unit).unwrap_or(part);
        let gap = if text.is_empty() { "" } else { " " };
        let unit = match (unit, number) {
            ("d", "1") => "day",
            ("d", _) => "days",
            (unit, _) => unit,
        };
        let _ = write!(text, "{gap}{number} {unit}");
    }
    text
}

#[cfg(test)]
mod tests {
    use tidegate::Amount;

    use super::*;

    fn quota(text: &str) -> String {
        limit(&Limit::quota("a", text).expect(text))
    }

    /// P64: what "N per X" means is said in plain words.
    #[test]
    fn a_rate_is_said_in_plain_words() {
        assert_eq!(quota("1/10s burst 10"), "10 at once, then 1 every 10 s");
        assert_eq!(quota("5 per second"), "5 at once, then 5 per second");
        assert_eq!(quota("6 per minute"), "6 at once, then 1 every 10 s");
        assert_eq!(quota("100/minute"), "100 at once, then 100 per minute");
        assert_eq!(quota("10/7s burst 20"), "20 at once, then 10 every 7 s");
        assert_eq!(quota("4000 per second"), "4000 at once, then 4000 per second");
        assert_eq!(quota("1/hour"), "1 at once, then 1 per hour");
        assert_eq!(quota("1/2 days"), "1 at once, then 1 every 2 days");
    }

    /// P42: whose day it is, is said: UTC's, or one that begins with a key's first request.
    #[test]
    fn a_window_says_when_it_begins() {
        let fixed = |secs| {
            let window = Span::from_secs(secs);
            limit(&Limit::fixed_window("a", Amount::from_units(10_000), window).expect("a limit"))
        };
        assert_eq!(fixed(86_400), "at most 10000 per UTC day");
        assert_eq!(fixed(3_600), "at most 10000 per UTC hour");
        assert_eq!(fixed(300), "at most 10000 per 5 min, counted from 00:00 UTC");
        assert_eq!(fixed(7), "at most 10000 per 7 s, counted from 1970-01-01 00:00 UTC");
        let first = Limit::fixed_window_from_first("a", Amount::ONE, DAY).expect("a limit");
        assert_eq!(limit(&first), "at most 1 in each 1 day that begins with a first request");
    }

    #[test]
    fn a_spacing_is_said_too() {
        let rolling = Limit::rolling_window("a", Amount::from_units(10), MINUTE);
        let spaced = rolling.and_then(|limit| limit.with_min_interval(Span::from_millis(500)));
        assert_eq!(
            limit(&spaced.expect("a limit")),
            "at most 10 in any 1 min, at least 500 ms apart"
        );
    }
}
