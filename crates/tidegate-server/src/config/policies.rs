//! Policies: the native `policies`, and the original's `use_algo` with `algo_settings`, which are one
//! policy of one limit, both named `default`.

use std::collections::HashMap;
use std::rc::Rc;

use tidegate::{Amount, Limit, Name, Policy, PolicyTable, Rate, Span};

use super::document::{Node, Origin};
use super::excerpt::position;
use super::keys;
use super::quota_limit::Kind;
use super::reader::{Fields, Reader};
use crate::constants::DEFAULT_POLICY;

/// How a limit is written, for those who wrote something else.
const EXAMPLE: &str = "- { name: burst, algorithm: token_bucket, capacity: 50, rate: 10/s }";

impl<'a> Reader<'a> {
    /// Every policy of a configuration.
    pub(super) fn policies(&mut self, top: Fields<'_, 'a>) -> Option<PolicyTable> {
        let named = match top.value("policies") {
            Some(node) => self.named_policies(node)?,
            None => Vec::new(),
        };
        let flat = ["use_algo", "algo_settings"].iter().find_map(|name| top.key(name));
        let mut policies = named;
        if let Some(key) = flat {
            if policies.iter().any(|policy| policy.name().as_str() == DEFAULT_POLICY) {
                self.refuse_with(
                    key,
                    "the policy `default` is given twice: here and in `policies`",
                    "keep one of the two",
                );
                return None;
            }
            policies.push(self.flat_policy(top)?);
        } else if policies.is_empty() {
            policies.push(self.built_in()?);
        } else if !policies.iter().any(|policy| policy.name().as_str() == DEFAULT_POLICY) {
            self.info("no policy is named default: every request must name its policy");
        }
        Some(PolicyTable::new(policies))
    }

    /// What holds when a configuration says nothing: 10 at once, then 1 per second.
    fn built_in(&mut self) -> Option<Policy> {
        let rate = Rate::per(Amount::ONE, Span::from_secs(1))?;
        let limit = Limit::token_bucket(DEFAULT_POLICY, Amount::from_units(10), rate).ok()?;
        self.info("no policy is given: the default one allows 10 at once, then 1 per second");
        Policy::new(DEFAULT_POLICY, [limit]).ok()
    }

    fn named_policies(&mut self, node: &Node<'a>) -> Option<Vec<Policy>> {
        let entries = self.entries(node, "policies", "api")?;
        if entries.is_empty() {
            self.refuse_with(node, "policies is empty", "add a policy or remove it");
            return None;
        }
        let read: Vec<Option<Policy>> =
            entries.iter().map_while(|(key, value)| self.sought_policy(key, value)).collect();
        read.into_iter().collect()
    }

    /// A policy, if faults are still looked for; the inner value is none when it has some.
    fn sought_policy(&mut self, key: &Node<'a>, value: &Node<'a>) -> Option<Option<Policy>> {
        (!self.errors.are_enough()).then(|| self.policy(key, value))
    }

    fn policy(&mut self, key: &Node<'a>, value: &Node<'a>) -> Option<Policy> {
        let name = key.text().unwrap_or_default();
        if let Err(error) = Name::new(name) {
            self.refuse(key, error.to_string());
            return None;
        }
        let fields = self.fields(value, &format!("policy {name}"), keys::POLICY)?;
        let Some(limits) = fields.value("limits") else {
            let help = format!("add limits:, and below it {EXAMPLE}");
            self.refuse_with(key, format!("policy {name} has no limits"), help);
            return None;
        };
        let items = self.items(limits, "limits", EXAMPLE)?;
        if items.is_empty() || items.len() > Policy::MAX_LIMITS {
            let (count, most) = (items.len(), Policy::MAX_LIMITS);
            let reason = format!("policy {name} has {count} limits; it must have 1 to {most}");
            self.refuse(limits, reason);
            return None;
        }
        let limits = self.limits(name, items)?;
        match Policy::new(name, limits) {
            Ok(policy) => Some(policy),
            Err(error) => {
                self.refuse(key, error.to_string());
                None
            }
        }
    }

    fn limits(&mut self, policy: &str, items: &[Rc<Node<'a>>]) -> Option<Vec<Limit>> {
        let mut names = HashMap::new();
        let mut limits = Vec::new();
        for item in items {
            let limit = self.named_limit(policy, item, &mut names);
            limits.push(limit);
        }
        limits.into_iter().collect()
    }

    fn named_limit<'n>(
        &mut self,
        policy: &str,
        item: &'n Node<'a>,
        names: &mut HashMap<&'n str, Origin<'a>>,
    ) -> Option<Limit> {
        let fields = self.fields(item, "a limit", keys::LIMIT)?;
        let kind = match fields.value("algorithm") {
            Some(node) => self.algorithm(node, "algorithm"),
            None => Some(Kind::TokenBucket),
        };
        let Some(node) = fields.value("name") else {
            self.refuse_with(item, "a limit has no `name`", "add one, such as name: burst");
            return None;
        };
        let (name, _) = self.scalar(node, "name", "a word")?;
        if let Err(error) = Name::new(name) {
            self.refuse(node, error.to_string());
            return None;
        }
        if let Some(Origin::File { start, .. }) = names.insert(name, node.origin) {
            // Lines are counted from the top of the file: only for a fault that will be shown.
            let help = match self.errors.is_full() {
                true => String::new(),
                false => {
                    let line = position(self.text, start).line;
                    format!("the first is on line {line}; give each its own name")
                }
            };
            self.refuse_with(node, format!("policy {policy} has two limits named {name}"), help);
            return None;
        }
        let kind = kind?;
        self.check_numbers(fields, kind)?;
        self.limit(name, kind, fields)
    }

    /// Refuses numbers that the algorithm has no use for.
    fn check_numbers(&mut self, fields: Fields<'_, 'a>, kind: Kind) -> Option<()> {
        let mut fits = Some(());
        for name in keys::LIMIT {
            let used = kind.numbers().contains(name);
            let general = matches!(*name, "name" | "algorithm" | "min_interval");
            let Some(key) = fields.key(name).filter(|_| !used && !general) else {
                continue;
            };
            let algorithm = kind.name();
            let help = match fields.value("algorithm") {
                Some(_) => format!("{algorithm} takes: {}", kind.numbers().join(", ")),
                None => "add algorithm: fixed_window, rolling_window or sliding_window".to_owned(),
            };
            self.refuse_with(key, format!("{algorithm} has no `{name}`"), help);
            fits = None;
        }
        fits
    }

    /// The original's form.
    fn flat_policy(&mut self, top: Fields<'_, 'a>) -> Option<Policy> {
        let kind = match top.value("use_algo") {
            Some(node) => self.algorithm(node, "use_algo")?,
            None => Kind::TokenBucket,
        };
        let Some(settings) = top.value("algo_settings") else {
            let key = top.key("use_algo")?;
            let numbers = kind.numbers()[..2].join(" and ");
            self.refuse_with(
                key,
                "`algo_settings` is missing",
                format!("{} needs {numbers} in it", kind.name()),
            );
            return None;
        };
        let fields = self.fields(settings, "algo_settings", keys::ALGO_SETTINGS)?;
        for name in keys::ALGO_SETTINGS {
            let used = kind.numbers().contains(name) || *name == "min_interval";
            if !used && fields.value(name).is_some() {
                let algorithm = kind.name();
                self.info(format!("algo_settings.{name} is not used by {algorithm}"));
            }
        }
        let limit = self.limit(DEFAULT_POLICY, kind, fields)?;
        Policy::new(DEFAULT_POLICY, [limit]).ok()
    }
}
