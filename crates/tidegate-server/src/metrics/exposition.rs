//! What a scrape reads: the text format 0.0.4, and OpenMetrics for those who ask for it.

use std::fmt::Write;
use std::sync::PoisonError;

use tidegate::StoreErrorKind;

use super::histogram::{BOUNDS, Histogram};
use super::{Ended, Face, Metrics, Reason, STANCES};

/// A way to write metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The value of the content type header.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format that an `Accept` header asks for: OpenMetrics when it is named with at least the
    /// weight of plain text.
    #[must_use]
    pub fn accepted_by(accept: &str) -> Format {
        let weight = |wanted: &str| {
            let ranges = accept.split(',').map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
                (name, weight.unwrap_or(1.0_f32))
            });
            let named = ranges.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            named.map(|(_, weight)| weight).fold(0.0, f32::max)
        };
        let open = weight("application/openmetrics-text");
        if open > 0.0 && open >= weight("text/plain") { Format::OpenMetrics } else { Format::Text }
    }
}

/// What is not counted but looked up when somebody asks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    /// Keys held in this process.
    pub(crate) keys: usize,
    /// Decisions made for keys that found no room.
    pub(crate) overflowed: u64,
}

impl Metrics {
    /// Everything, written for a scrape.
    #[must_use]
    pub(crate) fn write(&self, format: Format, gauges: Gauges) -> String {
        let mut page = Page { text: String::with_capacity(16 * 1024), format };
        self.write_decisions(&mut page);
        self.write_policies(&mut page);
        self.write_failures(&mut page);
        page.gauge("ratelimiter_keys", "Keys held in this process.");
        page.sample("ratelimiter_keys", &[], gauges.keys);
        page.counter("ratelimiter_overflow", "Decisions for keys that found no room.");
        page.sample("ratelimiter_overflow_total", &[], gauges.overflowed);
        page.gauge("ratelimiter_build_info", "The build that is running.");
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.sample("ratelimiter_build_info", &version, 1);
        page.finish()
    }

    fn write_decisions(&self, page: &mut Page) {
        let help =
            "Checks decided, by result; what a denied all-or-nothing call did not take is denied.";
        page.counter("ratelimiter_decisions", help);
        for how in Ended::ALL {
            let [.., count] = self.durations[how as usize].cumulative();
            page.sample("ratelimiter_decisions_total", &[("result", how.label())], count);
        }
        let help = "Time to decide the call that a check came in, by result.";
        page.family("ratelimiter_decision_duration_seconds", "histogram", help);
        for how in Ended::ALL {
            page.histogram(&self.durations[how as usize], ("result", how.label()));
        }
    }

    fn write_policies(&self, page: &mut Page) {
        let help = "Checks decided, by policy, governing limit and result.";
        page.counter("ratelimiter_policy_decisions", help);
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        for ((policy, limit), counters) in limits.iter() {
            for how in Ended::ALL {
                // A check has no governing limit exactly when it errored.
                if limit.is_none() != (how == Ended::Errored) {
                    continue;
                }
                let labels = [
                    ("policy", policy.as_str()),
                    ("limit", limit.as_ref().map_or("", |limit| limit.as_str())),
                    ("result", how.label()),
                ];
                let count = counters.0.sum(how as usize);
                page.sample("ratelimiter_policy_decisions_total", &labels, count);
            }
        }
    }

    fn write_failures(&self, page: &mut Page) {
        page.counter("ratelimiter_bad_requests", "Requests refused as a client's mistake.");
        for face in Face::ALL {
            for reason in Reason::ALL {
                let labels = [("face", face.label()), ("reason", reason.label())];
                let count = self.bad_requests[face as usize][reason as usize].value();
                page.sample("ratelimiter_bad_requests_total", &labels, count);
            }
        }
        page.counter("ratelimiter_store_errors", "Calls that the store could not answer.");
        for (kind, count) in StoreErrorKind::ALL.iter().zip(&self.store_errors) {
            let labels = [("kind", kind.label())];
            page.sample("ratelimiter_store_errors_total", &labels, count.value());
        }
        let help = "Checks answered without the store, by the stance taken.";
        page.counter("ratelimiter_degraded_decisions", help);
        for (stance, count) in STANCES.iter().zip(&self.undecided) {
            let labels = [("stance", stance.label())];
            page.sample("ratelimiter_degraded_decisions_total", &labels, count.value());
        }
    }
}

/// The text as it grows.
struct Page {
    text: String,
    format: Format,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// A family of counters: OpenMetrics names it without the `_total` of its samples.
    fn counter(&mut self, name: &str, help: &str) {
        match self.format {
            Format::Text => self.family(&format!("{name}_total"), "counter", help),
            Format::OpenMetrics => self.family(name, "counter", help),
        }
    }

    fn gauge(&mut self, name: &str, help: &str) {
        self.family(name, "gauge", help);
    }

    /// One sample. Label values are names of ours, in which nothing needs escaping.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn histogram(&mut self, histogram: &Histogram, label: (&str, &str)) {
        let name = "ratelimiter_decision_duration_seconds";
        let counts = histogram.cumulative();
        for ((_, bound), count) in BOUNDS.iter().zip(counts) {
            // OpenMetrics writes every bound as a floating point number.
            let whole = !bound.contains(['.', 'e']) && self.format == Format::OpenMetrics;
            let bound = if whole { format!("{bound}.0") } else { (*bound).to_owned() };
            self.sample(&format!("{name}_bucket"), &[label, ("le", &bound)], count);
        }
        let [.., all] = counts;
        self.sample(&format!("{name}_bucket"), &[label, ("le", "+Inf")], all);
        let nanos = histogram.sum_nanos();
        let sum = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        self.sample(&format!("{name}_sum"), &[label], sum);
        self.sample(&format!("{name}_count"), &[label], all);
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_written_only_for_those_who_prefer_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Format::accepted_by(prometheus), Format::OpenMetrics);
        for text in ["", "*/*", "text/plain", "application/openmetrics-text;q=0", "nonsense;;,"] {
            assert_eq!(Format::accepted_by(text), Format::Text, "{text}");
        }
        let plain = "text/plain;q=0.9, application/openmetrics-text;q=0.1";
        assert_eq!(Format::accepted_by(plain), Format::Text);
    }

    #[test]
    fn the_two_formats_name_counters_each_in_its_way() {
        let metrics = Metrics::new();
        let text = metrics.write(Format::Text, Gauges::default());
        assert!(text.contains("# TYPE ratelimiter_decisions_total counter\n"));
        assert!(text.contains("le=\"1\"") && !text.contains("# EOF"));
        let open = metrics.write(Format::OpenMetrics, Gauges::default());
        assert!(open.contains("# TYPE ratelimiter_decisions counter\n"));
        assert!(open.contains("le=\"1.0\"") && open.ends_with("\n# EOF\n"));
    }
}
