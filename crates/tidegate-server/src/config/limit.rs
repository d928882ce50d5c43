//! One limit: its algorithm and numbers.

use tidegate::{Align, Amount, Limit, LimitError, Quota, Span};

use super::document::Node;
use super::quota_limit::{ALGORITHMS, Kind, QuotaFault};
use super::rate::Pace;
use super::reader::{Fields, Reader};

impl<'a> Reader<'a> {
    /// The name of an algorithm.
    pub(super) fn algorithm(&mut self, node: &Node<'a>, name: &str) -> Option<Kind> {
        self.choice(node, name, ALGORITHMS)
    }

    /// A limit of this name, from the fields of its mapping.
    pub(super) fn limit(
        &mut self,
        name: &str,
        kind: Kind,
        fields: Fields<'_, 'a>,
    ) -> Option<Limit> {
        let limit = match kind {
            Kind::TokenBucket => self.bucket(name, fields),
            _ => self.window(name, kind, fields),
        };
        let Some(node) = fields.value("min_interval") else {
            return limit;
        };
        let interval = self.span(node, "min_interval")?;
        match limit?.with_min_interval(interval) {
            Ok(limit) => Some(limit),
            Err(_) => {
                let range = "use 1 ms to 3650 days, in whole microseconds";
                self.refuse(node, format!("min_interval cannot be {interval}; {range}"));
                None
            }
        }
    }

    fn bucket(&mut self, name: &str, fields: Fields<'_, 'a>) -> Option<Limit> {
        if let Some(node) = fields.value("quota") {
            self.alone(fields, &["rate", "capacity", "burst"])?;
            let quota = self.quota(node, "quota")?;
            return self.of_quota(name, Kind::TokenBucket, &quota, Align::Epoch, node);
        }
        let capacity = self.capacity(fields);
        let Some(node) = fields.value("rate") else {
            return self.missing(fields, "rate", "0.1 or 100/minute");
        };
        let pace = self.pace(node)?;
        let capacity = match (capacity?, &pace) {
            (Some(_), Pace::Notation(quota)) if quota.has_burst() => {
                self.refuse(node, "burst is given twice: in `rate` and in a field");
                return None;
            }
            (Some(capacity), _) => capacity,
            (None, Pace::Notation(quota)) => quota.burst(),
            (None, Pace::Decimal { .. }) => return self.missing(fields, "capacity", "10"),
        };
        let limit = match &pace {
            Pace::Decimal { rate, text } => self.decimal_bucket(name, capacity, (*rate, text)),
            Pace::Notation(quota) => Limit::token_bucket(name, capacity, quota.rate()),
        };
        self.made(limit, node, node)
    }

    /// What the bucket holds, by either of its names. The inner value is none when it is not given.
    fn capacity(&mut self, fields: Fields<'_, 'a>) -> Option<Option<Amount>> {
        let (name, node) = match (fields.value("capacity"), fields.value("burst")) {
            (None, None) => return Some(None),
            (Some(node), None) => ("capacity", node),
            (None, Some(node)) => ("burst", node),
            (Some(_), Some(node)) => {
                self.refuse(node, "`burst` and `capacity` are the same; keep one");
                return None;
            }
        };
        self.amount(node, name).map(Some)
    }

    fn window(&mut self, name: &str, kind: Kind, fields: Fields<'_, 'a>) -> Option<Limit> {
        let quota = match fields.value("quota") {
            Some(node) => {
                self.alone(fields, &["max_requests", "window_size"])?;
                Some((self.quota(node, "quota")?, node))
            }
            None => None,
        };
        let numbers = match quota {
            Some(_) => None,
            None => Some(self.window_numbers(fields)?),
        };
        let align = match fields.value("align").filter(|_| kind == Kind::FixedWindow) {
            Some(node) => {
                let words = [("epoch", Align::Epoch), ("first_request", Align::FirstRequest)];
                self.choice(node, "align", &words)?
            }
            None => Align::Epoch,
        };
        if let Some((quota, node)) = quota {
            return self.of_quota(name, kind, &quota, align, node);
        }
        let (max, window, max_node, window_node) = numbers?;
        self.made(kind.window(name, max, window, align), max_node, window_node)
    }

    /// The limit that a quota says.
    fn of_quota(
        &mut self,
        name: &str,
        kind: Kind,
        quota: &Quota,
        align: Align,
        node: &Node<'a>,
    ) -> Option<Limit> {
        match kind.limit(name, quota, align) {
            Ok(limit) => Some(limit),
            Err(QuotaFault::Limit(error)) => self.made(Err(error), node, node),
            Err(QuotaFault::Burst) => {
                self.refuse(node, "a window has no burst; only token_bucket has");
                None
            }
        }
    }

    /// The most, the window, and the nodes that say so.
    fn window_numbers<'n>(
        &mut self,
        fields: Fields<'n, 'a>,
    ) -> Option<(Amount, Span, &'n Node<'a>, &'n Node<'a>)> {
        let max = match fields.value("max_requests") {
            Some(node) => self.amount(node, "max_requests").map(|max| (max, node)),
            None => self.missing(fields, "max_requests", "100"),
        };
        let window = match fields.value("window_size") {
            Some(node) => self.span(node, "window_size").map(|span| (span, node)),
            None => self.missing(fields, "window_size", "60 or 1d"),
        };
        let ((max, max_node), (window, window_node)) = (max?, window?);
        Some((max, window, max_node, window_node))
    }

    /// Refuses fields that say again what `quota` says.
    fn alone(&mut self, fields: Fields<'_, 'a>, others: &[&str]) -> Option<()> {
        let twice = others.iter().find_map(|name| fields.key(name));
        let Some(key) = twice else {
            return Some(());
        };
        self.refuse(key, "`quota` says this already; keep one of the two");
        None
    }

    fn missing<T>(&mut self, fields: Fields<'_, 'a>, name: &str, example: &str) -> Option<T> {
        let help = format!("add it, such as {name}: {example}");
        self.refuse_with(fields.node, format!("`{name}` is missing"), help);
        None
    }

    /// The limit that was made, or the reason at the number that is to blame.
    fn made(
        &mut self,
        limit: Result<Limit, LimitError>,
        amount: &Node<'a>,
        time: &Node<'a>,
    ) -> Option<Limit> {
        match limit {
            Ok(limit) => Some(limit),
            Err(error) => {
                let node = match error {
                    LimitError::TooMany { .. } => amount,
                    _ => time,
                };
                self.refuse(node, error.to_string());
                None
            }
        }
    }
}
