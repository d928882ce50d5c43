//! What a scrape reads: the text format 0.0.4, and OpenMetrics for those who ask for it.

use std::borrow::Cow;
use std::fmt::Write;

use crate::histogram::{BOUNDS, Histogram};

/// A way to write metrics.
///
/// # Examples
///
/// ```
/// use tidegate_metrics::Format;
///
/// let accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";
/// assert_eq!(Format::accepted_by(accept), Format::OpenMetrics);
/// assert_eq!(Format::accepted_by("*/*"), Format::Text);
/// ```
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

/// A page of metrics as it grows: for a service that has metrics of its own beside those here.
///
/// # Examples
///
/// ```
/// use tidegate_metrics::{Format, Page};
///
/// let mut page = Page::new(Format::Text);
/// page.counter("greetings", "How often somebody was greeted.");
/// page.sample("greetings_total", &[("language", "en")], 3);
/// let text = page.finish();
/// assert!(text.contains("# TYPE greetings_total counter\ngreetings_total{language=\"en\"} 3\n"));
/// ```
#[derive(Debug)]
pub struct Page {
    text: String,
    format: Format,
}

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new(format: Format) -> Page {
        Page { text: String::with_capacity(16 * 1024), format }
    }

    /// Begins a family of samples of this kind.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    /// Begins a family of counters, whose samples end in `_total`: OpenMetrics names it without the
    /// `_total` of its samples.
    pub fn counter(&mut self, name: &str, help: &str) {
        match self.format {
            Format::Text => self.family(&format!("{name}_total"), "counter", help),
            Format::OpenMetrics => self.family(name, "counter", help),
        }
    }

    /// Begins a family of gauges.
    pub fn gauge(&mut self, name: &str, help: &str) {
        self.family(name, "gauge", help);
    }

    /// One sample. Label values may hold anything; names of samples and of labels are written as they
    /// are.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    pub(crate) fn histogram(&mut self, histogram: &Histogram, label: (&str, &str)) {
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

    /// The whole page.
    #[must_use]
    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// A label's value as both formats write it.
fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_label_cannot_end_its_line() {
        let mut page = Page::new(Format::Text);
        page.sample("seen_total", &[("path", "a\\b\"} 9\nevil 1"), ("plain", "c")], 1);
        let line = r#"seen_total{path="a\\b\"} 9\nevil 1",plain="c"} 1"#;
        assert_eq!(page.finish(), format!("{line}\n"));
    }

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
}
