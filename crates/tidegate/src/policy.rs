//! Policies: named sets of limits, and the table of them that a service looks them up in.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::{Arc, OnceLock};

use siphasher::sip::SipHasher13;

use crate::algorithm::Rule;
use crate::amount::Amount;
use crate::layout::{Layout, Slot};
use crate::limit::{Limit, LimitError};
use crate::name::{Name, NameError};

/// A named set of limits that must all allow a request.
///
/// The name is part of where state is kept: two policies never share a count.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Limit, Policy, Span};
///
/// let policy = Policy::new(
///     "api",
///     [
///         Limit::quota("burst", "10/s burst 50")?,
///         Limit::fixed_window("daily", Amount::from_units(10_000), Span::from_secs(86_400))?,
///     ],
/// )?;
/// assert_eq!(policy.limits().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    name: Name,
    limits: Box<[Limit]>,
    /// The name as 64 bits: what keeps one policy's keys apart from another's in memory.
    space: u64,
    parts: Box<[Part]>,
    /// How many words the states of all parts take.
    words: usize,
    layout: Layout,
    /// What is said of it in answers, from the first time on that it is asked for.
    field: OnceLock<Box<str>>,
}

/// One rule of a policy: a limit itself, or the minimum spacing that goes with the limit before it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Which limit it belongs to, by its place in the policy.
    pub(crate) limit: usize,
    /// The limit's name, its algorithm and what the part is, as 64 bits: which of a key's states is
    /// this part's, also after limits were added, removed or put in another order.
    pub(crate) slot: u64,
    pub(crate) rule: Rule,
    /// The most its limit holds.
    pub(crate) max: Amount,
    /// Where its state's words begin and end among those of the policy.
    words: (usize, usize),
}

impl Part {
    fn of(place: usize, limit: &Limit) -> impl Iterator<Item = Part> {
        let name = limit.name().as_str();
        let slot = |kind: &str| fingerprint(&[name, limit.algorithm().name(), kind]);
        let own = Part {
            limit: place,
            slot: slot(""),
            rule: limit.rule().clone(),
            max: limit.algorithm().max(),
            words: (0, 0),
        };
        let spacing = limit.min_interval().map(|interval| Part {
            limit: place,
            slot: slot("min_interval"),
            rule: Rule::spacing(interval),
            max: limit.algorithm().max(),
            words: (0, 0),
        });
        std::iter::once(own).chain(spacing)
    }

    /// The part as a layout knows it.
    fn slot(&self) -> Slot {
        Slot {
            id: self.slot,
            words: self.rule.words(),
            is_log: self.rule.is_log(),
            scale: self.rule.scale(),
            pace: self.rule.pace(),
        }
    }

    /// The words of this part among those of its policy.
    #[inline]
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.words.0..self.words.1
    }
}

/// A hash of configured names. Its key is fixed: whoever writes names into a configuration has
/// nothing to gain from a collision.
fn fingerprint(names: &[&str]) -> u64 {
    let mut hasher = SipHasher13::new();
    for name in names {
        hasher.write(name.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish()
}

impl Policy {
    /// The most limits in one policy.
    pub const MAX_LIMITS: usize = 16;

    /// A policy of this name and these limits, in the order that breaks ties.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] when the name is none, there is no limit or more than
    /// [`Policy::MAX_LIMITS`], or two limits share a name.
    pub fn new(name: &str, limits: impl IntoIterator<Item = Limit>) -> Result<Policy, PolicyError> {
        let name = Name::new(name)?;
        let limits: Box<[Limit]> = limits.into_iter().collect();
        if limits.is_empty() || limits.len() > Policy::MAX_LIMITS {
            return Err(PolicyError::Count { policy: name, count: limits.len() });
        }
        for (place, limit) in limits.iter().enumerate() {
            if limits[..place].iter().any(|earlier| earlier.name() == limit.name()) {
                return Err(PolicyError::Duplicate { policy: name, limit: limit.name().clone() });
            }
        }
        let parts = limits.iter().enumerate().flat_map(|(place, limit)| Part::of(place, limit));
        let mut parts: Box<[Part]> = parts.collect();
        let mut words = 0;
        for part in &mut parts {
            part.words = (words, words + part.rule.words());
            words = part.words.1;
        }
        let layout = Layout::of(parts.iter().map(Part::slot));
        let space = fingerprint(&[name.as_str()]);
        Ok(Policy { name, limits, space, parts, words, layout, field: OnceLock::new() })
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its limits, in order; at least one.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    pub(crate) fn space(&self) -> u64 {
        self.space
    }

    /// How many words the states of all its parts take.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Which parts it has, in which order.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// What is said of it in answers; `describe` writes it once.
    pub(crate) fn field_with(&self, describe: impl FnOnce() -> String) -> &str {
        self.field.get_or_init(|| describe().into_boxed_str())
    }

    /// Each limit followed by its spacing, if it has one.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// Two policies are equal when their names and limits are.
impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        self.name == other.name && self.limits == other.limits
    }
}

/// Why limits make no policy.
///
/// # Examples
///
/// ```
/// use tidegate::{Policy, PolicyError};
///
/// assert!(matches!(Policy::new("none", []), Err(PolicyError::Count { count: 0, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The name is not one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A limit is not one.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// There are no limits, or too many.
    #[error("policy {policy} has {count} limits; it must have 1 to 16")]
    Count {
        /// The policy.
        policy: Name,
        /// How many limits were given.
        count: usize,
    },
    /// Two limits have one name.
    #[error("policy {policy} has two limits named {limit}; give each its own name")]
    Duplicate {
        /// The policy.
        policy: Name,
        /// The name given twice.
        limit: Name,
    },
}

/// An immutable set of policies, found by name.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Policy, PolicyTable};
///
/// let table = PolicyTable::new([Policy::new("api", [Limit::quota("burst", "5/s")?])?]);
/// assert!(table.lookup("api").is_some());
/// assert!(table.lookup("web").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PolicyTable {
    policies: HashMap<String, Arc<Policy>>,
}

impl PolicyTable {
    /// A table of these policies; of two with one name the later stays.
    #[must_use]
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> PolicyTable {
        let named = |policy: Policy| (policy.name().as_str().to_owned(), Arc::new(policy));
        PolicyTable { policies: policies.into_iter().map(named).collect() }
    }

    /// The policy of this name, if there is one.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<&Arc<Policy>> {
        self.policies.get(name)
    }

    /// Every policy, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.policies.values()
    }
}
