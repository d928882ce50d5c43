//! What a layer asks about a request: one key under one policy, or several, all or nothing.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate::{Check, Cost, Key, KeyError, Policy, Stopwatch};

use crate::ask::{Ask, Reason};
use crate::head::RequestHead;
use crate::key::Extractor;
use crate::keybuf::KeyBuf;

/// So many checks of one request need no allocation.
const INLINE: usize = 2;

/// One key under one policy.
#[derive(Debug)]
pub struct Rule<K> {
    pub(crate) policy: Arc<Policy>,
    /// Shared, so that a rule can be cloned whatever its key is.
    pub(crate) key: Arc<K>,
}

impl<K> Clone for Rule<K> {
    fn clone(&self) -> Rule<K> {
        Rule { policy: Arc::clone(&self.policy), key: Arc::clone(&self.key) }
    }
}

/// Rules and one more: a request passes when all allow it, and is charged by all or none.
#[derive(Debug)]
pub struct And<R, K> {
    pub(crate) others: R,
    pub(crate) rule: Rule<K>,
}

impl<R: Clone, K> Clone for And<R, K> {
    fn clone(&self) -> And<R, K> {
        And { others: self.others.clone(), rule: self.rule.clone() }
    }
}

/// One rule or several. Not to be implemented outside of this crate.
pub trait Rules: Clone {
    #[doc(hidden)]
    fn ask<'a>(&'a self, request: &RequestHead<'_>, asked: &mut Asked<'a>) -> Result<(), Reason>;
}

impl<K: Extractor> Rules for Rule<K> {
    fn ask<'a>(&'a self, request: &RequestHead<'_>, asked: &mut Asked<'a>) -> Result<(), Reason> {
        let start = asked.keys.len();
        match self.key.extract(request, &mut asked.keys) {
            Ask::Limit(terms) => {
                asked.items.push(Item {
                    policy: terms.policy.map_or(Source::Rule(&self.policy), Source::Found),
                    key_start: start,
                    key_end: asked.keys.len(),
                    cost: terms.cost.unwrap_or(Cost::ONE),
                    is_own: !asked.is_begun,
                });
            }
            Ask::Skip => asked.keys.truncate(start),
            Ask::Missing(reason) | Ask::Reject(reason) => return Err(reason),
        }
        asked.is_begun = true;
        Ok(())
    }
}

impl<R: Rules, K: Extractor> Rules for And<R, K> {
    fn ask<'a>(&'a self, request: &RequestHead<'_>, asked: &mut Asked<'a>) -> Result<(), Reason> {
        self.others.ask(request, asked)?;
        self.rule.ask(request, asked)
    }
}

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
pub(crate) struct Item<'a> {
    policy: Source<'a>,
    key_start: usize,
    key_end: usize,
    pub(crate) cost: Cost,
    /// Whether the layer's own rule asks for it, and not one that was added.
    is_own: bool,
}

impl Item<'_> {
    pub(crate) fn policy(&self) -> &Policy {
        match &self.policy {
            Source::Rule(policy) => policy,
            Source::Found(policy) => policy,
        }
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
#[doc(hidden)]
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

impl Asked<'_> {
    pub(crate) fn items(&self) -> &[Item<'_>] {
        &self.items
    }

    /// What the layer's own rule asks, unless it asks nothing.
    pub(crate) fn own(&self) -> Option<&Item<'_>> {
        self.items.first().filter(|item| item.is_own)
    }

    /// The key of this item.
    pub(crate) fn key(&self, item: &Item<'_>) -> &[u8] {
        &self.keys.as_bytes()[item.key_start..item.key_end]
    }

    /// The same as questions to a store.
    pub(crate) fn checks(&self) -> Result<Checks<'_>, KeyError> {
        let check =
            |item| Ok(Check::take(Key::new(self.key(item))?, Item::policy(item), item.cost));
        self.items.iter().map(check).collect()
    }

    /// The same, to be kept longer than the rules it came from.
    pub(crate) fn into_owned(self) -> Asked<'static> {
        let items = self.items.into_iter().map(Item::into_owned).collect();
        Asked { keys: self.keys, items, is_begun: self.is_begun, started: self.started }
    }
}
