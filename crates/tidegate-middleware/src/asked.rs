//! What is asked about a request: one key under one policy, or several, all or nothing.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate::{Check, Cost, Key, KeyError, Policy, Stopwatch};

use crate::ask::{Ask, Reason};
use crate::keybuf::KeyBuf;

/// So many checks of one request need no allocation.
const INLINE: usize = 2;

/// Whose policy it is.
#[derive(Clone, Debug)]
enum Source<'a> {
    /// The rule's own.
    Rule(&'a Arc<Policy>),
    /// One that came with the key.
    Found(Arc<Policy>),
}

/// What is asked for one key.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    policy: Source<'a>,
    key_start: usize,
    key_end: usize,
    cost: Cost,
}

impl Item<'_> {
    /// Under which policy.
    #[inline]
    #[must_use]
    pub fn policy(&self) -> &Policy {
        match &self.policy {
            Source::Rule(policy) => policy,
            Source::Found(policy) => policy,
        }
    }

    /// At what cost.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    fn into_owned(self) -> Item<'static> {
        let policy = match self.policy {
            Source::Rule(policy) => Arc::clone(policy),
            Source::Found(policy) => policy,
        };
        Item { policy: Source::Found(policy), ..self }
    }
}

/// All that is asked about a request; nothing when it is not counted.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tidegate::{Limit, Policy};
/// use tidegate_middleware::{Ask, Asked, IntoKey};
///
/// let policy = Arc::new(Policy::new("api", [Limit::quota("burst", "100/minute")?])?);
/// let mut asked = Asked::default();
/// asked.rule(&policy, |_| Ask::Skip).map_err(|reason| reason.to_string())?;
/// assert!(asked.is_empty());
/// asked.rule(&policy, |key| "alice".into_key(key)).map_err(|reason| reason.to_string())?;
/// let keys: Vec<&[u8]> = asked.items().map(|item| asked.key(item)).collect();
/// assert_eq!(keys, [b"alice"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Asked<'a> {
    keys: KeyBuf,
    /// Mostly it is one, which lies where it is written.
    lead: Option<Item<'a>>,
    rest: SmallVec<[Item<'a>; INLINE - 1]>,
    /// Whether a rule has been seen to.
    is_begun: bool,
    /// Whether the first rule asks for the first item, and not one that was added.
    is_first: bool,
    /// When the store was asked, where an observer wants to know.
    pub(crate) started: Option<Stopwatch>,
}

/// The checks of one request.
pub(crate) type Checks<'a> = SmallVec<[Check<'a>; INLINE]>;

impl<'a> Asked<'a> {
    /// Sees to one rule: asks for what `extract` finds, under this policy unless it finds another.
    ///
    /// # Errors
    ///
    /// The reason why the request is to be refused.
    #[inline]
    pub fn rule(
        &mut self,
        policy: &'a Arc<Policy>,
        extract: impl FnOnce(&mut KeyBuf) -> Ask,
    ) -> Result<(), Reason> {
        let start = self.keys.len();
        match extract(&mut self.keys) {
            Ask::Limit(terms) => {
                let item = Item {
                    policy: terms.policy.map_or(Source::Rule(policy), Source::Found),
                    key_start: start,
                    key_end: self.keys.len(),
                    cost: terms.cost.unwrap_or(Cost::ONE),
                };
                if self.lead.is_none() {
                    self.is_first = !self.is_begun;
                    self.lead = Some(item);
                } else {
                    self.rest.push(item);
                }
            }
            Ask::Skip => self.keys.truncate(start),
            Ask::Missing(reason) | Ask::Reject(reason) => return Err(reason),
        }
        self.is_begun = true;
        Ok(())
    }
}

impl Asked<'_> {
    /// What is asked, in the order of the rules.
    #[inline]
    pub fn items(&self) -> impl Iterator<Item = &Item<'_>> + Clone {
        self.lead.iter().chain(&self.rest)
    }

    /// Whether nothing is asked.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lead.is_none()
    }

    /// How much is asked.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.lead.is_some()) + self.rest.len()
    }

    /// All that is asked, when it is one thing.
    #[inline]
    #[must_use]
    pub fn only(&self) -> Option<&Item<'_>> {
        self.lead.as_ref().filter(|_| self.rest.is_empty())
    }

    /// What the first rule asks, unless it asks nothing.
    #[must_use]
    pub fn first(&self) -> Option<&Item<'_>> {
        self.lead.as_ref().filter(|_| self.is_first)
    }

    /// What is asked in this place: that of a verdict's decision on it.
    #[inline]
    #[must_use]
    pub fn item(&self, place: usize) -> Option<&Item<'_>> {
        match place {
            0 => self.lead.as_ref(),
            place => self.rest.get(place - 1),
        }
    }

    /// The key of this item.
    #[inline]
    #[must_use]
    pub fn key(&self, item: &Item<'_>) -> &[u8] {
        &self.keys.as_bytes()[item.key_start..item.key_end]
    }

    /// The same as questions to a store.
    pub(crate) fn checks(&self) -> Result<Checks<'_>, KeyError> {
        self.items().map(|item| self.check(item)).collect()
    }

    /// The same as a question to a store.
    #[inline]
    pub(crate) fn check<'a>(&'a self, item: &'a Item<'_>) -> Result<Check<'a>, KeyError> {
        Ok(Check::take(Key::new(self.key(item))?, item.policy(), item.cost))
    }

    /// The same, to be kept longer than the rules it came from.
    #[must_use]
    pub fn into_owned(self) -> Asked<'static> {
        Asked {
            keys: self.keys,
            lead: self.lead.map(Item::into_owned),
            rest: self.rest.into_iter().map(Item::into_owned).collect(),
            is_begun: self.is_begun,
            is_first: self.is_first,
            started: self.started,
        }
    }
}
