//! Reading fields: from nodes to checked values, with every fault noted where it stands.

use std::rc::Rc;

use tidegate::{Amount, AmountError, Span};

use super::document::{Entry, Node, Origin, Value};
use super::environment::Environment;
use super::error::{ConfigError, ConfigErrors};
use super::excerpt::{Excerpt, position};
use super::keys;
use super::scalar::{plain_number, read_span};
use crate::settings::Note;

/// The file that is read, the environment around it, and what was found wrong or worth a note.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) environment: &'a Environment,
    pub(super) errors: ConfigErrors,
    pub(super) notes: Vec<Note>,
}

/// A mapping whose fields are known by name.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n, 'a> {
    pub(super) node: &'n Node<'a>,
    entries: &'n [Entry<'a>],
}

impl<'n, 'a> Fields<'n, 'a> {
    /// The value of a field.
    pub(super) fn value(&self, name: &str) -> Option<&'n Node<'a>> {
        self.entry(name).map(|(_, value)| &**value)
    }

    /// The name of a field, where it was written.
    pub(super) fn key(&self, name: &str) -> Option<&'n Node<'a>> {
        self.entry(name).map(|(key, _)| &**key)
    }

    fn entry(&self, name: &str) -> Option<&'n Entry<'a>> {
        self.entries.iter().find(|(key, _)| key.text() == Some(name))
    }
}

impl<'a> Reader<'a> {
    /// Notes a fault at a node.
    pub(super) fn refuse(&mut self, node: &Node<'_>, reason: impl Into<String>) {
        self.fault(node.origin, reason.into(), None);
    }

    /// Notes a fault at a node, and what would be right.
    pub(super) fn refuse_with(
        &mut self,
        node: &Node<'_>,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.fault(node.origin, reason.into(), Some(help.into()));
    }

    pub(super) fn fault(&mut self, origin: Origin<'_>, reason: String, help: Option<String>) {
        let (file, text) = (self.file, self.text);
        self.errors.push(|| {
            let (place, excerpt) = locate(file, text, origin);
            ConfigError { place, reason, excerpt, help }
        });
    }

    /// Notes something to know.
    pub(super) fn info(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Info(text.into()));
    }

    /// Notes something that is probably not meant.
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Warn(text.into()));
    }

    /// The fields of a mapping; every one that is not in `known` is refused.
    pub(super) fn fields<'n>(
        &mut self,
        node: &'n Node<'a>,
        name: &str,
        known: &[&'static str],
    ) -> Option<Fields<'n, 'a>> {
        let entries = self.entries(node, name, known[0])?;
        for (key, _) in entries {
            if self.errors.are_enough() {
                return None;
            }
            let word = key.text().unwrap_or_default();
            if !known.contains(&word) {
                self.unknown(key, word, known);
            }
        }
        Some(Fields { node, entries })
    }

    /// The entries of a mapping, whatever their names.
    pub(super) fn entries<'n>(
        &mut self,
        node: &'n Node<'a>,
        name: &str,
        example: &str,
    ) -> Option<&'n [Entry<'a>]> {
        match &node.value {
            Value::Mapping(entries) => return Some(entries),
            _ if node.is_null() => {
                self.refuse_with(node, format!("{name} is empty"), "give it a value or remove it");
            }
            _ => self.refuse_with(
                node,
                format!("{name} must hold fields"),
                format!("write it like `{example}: ...` on lines below, indented"),
            ),
        }
        None
    }

    fn unknown(&mut self, key: &Node<'_>, word: &str, known: &[&'static str]) {
        if self.errors.is_full() {
            // Only counted: looking for what was meant a million times would take long.
            return self.refuse(key, "");
        }
        let shown: String = word.chars().take(64).collect();
        if keys::LATER.contains(&word) {
            return self.refuse_with(key, format!("`{shown}` is not supported yet"), "remove it");
        }
        let list = format!("known here: {}", known.join(", "));
        let help = match keys::nearest(word, known.iter().copied()) {
            Some(name) => format!("did you mean `{name}`? {list}"),
            None => list,
        };
        self.refuse_with(key, format!("unknown field `{shown}`"), help);
    }

    /// The items of a list.
    pub(super) fn items<'n>(
        &mut self,
        node: &'n Node<'a>,
        name: &str,
        example: &str,
    ) -> Option<&'n [Rc<Node<'a>>]> {
        match &node.value {
            Value::Sequence(items) => Some(items),
            _ => {
                self.refuse_with(
                    node,
                    format!("{name} must be a list"),
                    format!("write it like `{example}`"),
                );
                None
            }
        }
    }

    /// The text of a scalar that is not empty, and whether it was quoted.
    pub(super) fn scalar<'n>(
        &mut self,
        node: &'n Node<'a>,
        name: &str,
        what: &str,
    ) -> Option<(&'n str, bool)> {
        if node.is_null() {
            self.refuse_with(node, format!("{name} is empty"), "give it a value or remove it");
            return None;
        }
        match &node.value {
            Value::Scalar { text, quoted } => Some((text, *quoted)),
            _ => {
                self.refuse(node, format!("{name} must be {what}, not a list or fields"));
                None
            }
        }
    }

    /// A number as it was written, without the underscores that may separate its digits.
    pub(super) fn number(&mut self, node: &Node<'a>, name: &str, example: &str) -> Option<String> {
        let (text, quoted) = self.scalar(node, name, "a number")?;
        if quoted {
            let help = match text.parse::<Amount>() {
                Ok(_) => format!("write {text} without quotes"),
                Err(_) => format!("write it like {example}"),
            };
            self.refuse_with(node, format!("{name} must be a number, not text"), help);
            return None;
        }
        Some(plain_number(text))
    }

    /// An amount of units above zero.
    pub(super) fn amount(&mut self, node: &Node<'a>, name: &str) -> Option<Amount> {
        let text = self.number(node, name, "10")?;
        match text.parse::<Amount>() {
            Ok(amount) if !amount.is_zero() => return Some(amount),
            Ok(_) => self.refuse(node, format!("{name} is zero; it must be above 0")),
            Err(error) => self.refuse_amount(node, name, error),
        }
        None
    }

    pub(super) fn refuse_amount(&mut self, node: &Node<'a>, name: &str, error: AmountError) {
        let reason = match error {
            AmountError::Negative => format!("{name} is negative; it must be above 0"),
            other => format!("{name} is {other}"),
        };
        self.refuse(node, reason);
    }

    /// A length of time above zero.
    pub(super) fn span(&mut self, node: &Node<'a>, name: &str) -> Option<Span> {
        let (text, _) = self.scalar(node, name, "a length of time")?;
        match read_span(text) {
            Ok(Span::ZERO) => self.refuse(node, format!("{name} is zero; it must be above 0")),
            Ok(span) => return Some(span),
            Err(reason) => self.refuse(node, format!("{name}: {reason}")),
        }
        None
    }

    /// A length of time, which may be zero.
    pub(super) fn span_or_zero(&mut self, node: &Node<'a>, name: &str) -> Option<Span> {
        let (text, _) = self.scalar(node, name, "a length of time")?;
        match read_span(text) {
            Ok(span) => return Some(span),
            Err(reason) => self.refuse(node, format!("{name}: {reason}")),
        }
        None
    }

    /// A whole number between two bounds, both included.
    pub(super) fn whole(
        &mut self,
        node: &Node<'a>,
        name: &str,
        (least, most): (u64, u64),
    ) -> Option<u64> {
        let text = self.number(node, name, &least.to_string())?;
        let value = text.parse().ok();
        if let Some(value) = value.filter(|value| (least..=most).contains(value)) {
            return Some(value);
        }
        self.refuse(node, format!("{name} must be a whole number from {least} to {most}"));
        None
    }

    /// Yes or no, in the ways that YAML writes them.
    pub(super) fn yes(&mut self, node: &Node<'a>, name: &str) -> Option<bool> {
        match node.text() {
            Some("True" | "TRUE") => Some(true),
            Some("False" | "FALSE") => Some(false),
            _ => self.choice(node, name, &[("true", true), ("false", false)]),
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        node: &Node<'a>,
        name: &str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let (text, _) = self.scalar(node, name, "a word")?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let shown: String = text.chars().take(64).collect();
        let list = format!("it is one of: {}", list.join(", "));
        let help = match keys::nearest(text, words.iter().map(|(word, _)| *word)) {
            Some(word) => format!("did you mean `{word}`? {list}"),
            None => list,
        };
        self.refuse_with(node, format!("{name} cannot be `{shown}`"), help);
        None
    }
}

/// Where a fault is, and the line of the file that shows it.
fn locate(file: &str, text: &str, origin: Origin<'_>) -> (String, Option<Excerpt>) {
    match origin {
        Origin::File { start, end } => {
            let at = position(text, start);
            let place = format!("{file}:{}:{}", at.line, at.column);
            (place, Some(Excerpt::new(text, start, end)))
        }
        Origin::Variable(name) | Origin::Flag(name) => (name.to_owned(), None),
        Origin::Default => (file.to_owned(), None),
    }
}
