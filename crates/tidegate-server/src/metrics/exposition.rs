//! What a scrape reads.

use tidegate_metrics::{Format, Page};

use super::{Face, Metrics, Reason};

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
        let mut page = Page::new(format);
        self.decisions.write(&mut page);
        self.write_bad_requests(&mut page);
        self.store_errors.write(&mut page);
        page.gauge("ratelimiter_keys", "Keys held in this process.");
        page.sample("ratelimiter_keys", &[], gauges.keys);
        page.counter("ratelimiter_overflow", "Decisions for keys that found no room.");
        page.sample("ratelimiter_overflow_total", &[], gauges.overflowed);
        page.gauge("ratelimiter_build_info", "The build that is running.");
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.sample("ratelimiter_build_info", &version, 1);
        page.finish()
    }

    fn write_bad_requests(&self, page: &mut Page) {
        page.counter("ratelimiter_bad_requests", "Requests refused as a client's mistake.");
        for face in Face::ALL {
            for reason in Reason::ALL {
                let labels = [("face", face.label()), ("reason", reason.label())];
                let count = self.bad_requests[face as usize][reason as usize].value();
                page.sample("ratelimiter_bad_requests_total", &labels, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
