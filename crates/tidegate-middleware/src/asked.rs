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
    /// Whether the first rule asks for it, and not one that was added.
    is_first: bool,
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
/// assert!(asked.items().is_empty());
/// asked.rule(&policy, |key| "alice".into_key(key)).map_err(|reason| reason.to_string())?;
/// assert_eq!(asked.key(&asked.items()[0]), b"alice");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Asked<'a> {
    keys: KeyBuf,
    items: SmallVec<[Item<'a>; INLINE]>,
    /// Whether a rule has been seen to.
    is_begun: bool,
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
            Ask::Limit(terms) => self.items.push(Item {
                policy: terms.policy.map_or(Source::Rule(policy), Source::Found),
                key_start: start,
                key_end: self.keys.len(),
                cost: terms.cost.unwrap_or(Cost::ONE),
                is_first: !self.is_begun,
            }),
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
    #[must_use]
    pub fn items(&self) -> &[Item<'_>] {
        &self.items
    }

    /// What the first rule asks, unless it asks nothing.
    #[must_use]
    pub fn first(&self) -> Option<&Item<'_>> {
        self.items.first().filter(|item| item.is_first)
    }

    /// The key of this item.
    #[inline]
    #[must_use]
    pub fn key(&self, item: &Item<'_>) -> &[u8] {
        &self.keys.as_bytes()[item.key_start..item.key_end]
    }

    /// The same as questions to a store.
    pub(crate) fn checks(&self) -> Result<Checks<'_>, KeyError> {
        self.items.iter().map(|item| self.check(item)).collect()
    }

    /// The same as a question to a store.
    #[inline]
    pub(crate) fn check<'a>(&'a self, item: &'a Item<'_>) -> Result<Check<'a>, KeyError> {
        Ok(Check::take(Key::new(self.key(item))?, item.policy(), item.cost))
    }

    /// The same, to be kept longer than the rules it came from.
    #[must_use]
    pub fn into_owned(self) -> Asked<'static> {
        let items = self.items.into_iter().map(Item::into_owned).collect();
        Asked { keys: self.keys, items, is_begun: self.is_begun, started: self.started }
    }
}
