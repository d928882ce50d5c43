//! Extractors made of others.

use super::Extractor;
use crate::ask::{Ask, IntoCost, Terms};
use crate::head::RequestHead;
use crate::keybuf::KeyBuf;

/// By one extractor, or by another where that finds no key (see [`Extractor::or`]).
#[derive(Clone, Copy, Debug)]
pub struct Or<K, F> {
    pub(super) first: K,
    pub(super) fallback: F,
}

impl<K: Extractor, F: Extractor> Extractor for Or<K, F> {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        let start = key.len();
        match self.first.extract(request, key) {
            Ask::Missing(_) => {
                key.truncate(start);
                self.fallback.extract(request, key)
            }
            ask => ask,
        }
    }
}

/// By an extractor; what has no key passes uncounted (see [`Extractor::or_skip`]).
#[derive(Clone, Copy, Debug)]
pub struct OrSkip<K>(pub(super) K);

impl<K: Extractor> Extractor for OrSkip<K> {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        match self.0.extract(request, key) {
            Ask::Missing(_) => Ask::Skip,
            ask => ask,
        }
    }
}

/// By an extractor, at a cost that a function finds (see [`Extractor::cost`]).
#[derive(Clone, Copy, Debug)]
pub struct Costed<K, F> {
    pub(crate) key: K,
    pub(crate) cost: F,
}

impl<K, F, C> Extractor for Costed<K, F>
where
    K: Extractor,
    F: Fn(&RequestHead<'_>) -> C,
    C: IntoCost,
{
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        match self.key.extract(request, key) {
            Ask::Limit(Terms { cost: None, policy }) => match (self.cost)(request).into_cost() {
                Ok(cost) => Ask::Limit(Terms { cost: Some(cost), policy }),
                Err(reason) => Ask::Missing(reason),
            },
            ask => ask,
        }
    }
}

/// Shared, as a layer and its services share it.
impl<K: Extractor> Extractor for std::sync::Arc<K> {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        K::extract(self, request, key)
    }
}

/// Writes one part of a combined key, and takes up the terms it comes with.
fn extract_part<K: Extractor>(
    part: &K,
    request: &RequestHead<'_>,
    key: &mut KeyBuf,
    terms: &mut Terms,
) -> Result<(), Ask> {
    let start = key.len();
    match part.extract(request, key) {
        Ask::Limit(found) => {
            key.close_part(start);
            terms.cost = found.cost.or(terms.cost);
            terms.policy = found.policy.or_else(|| terms.policy.take());
            Ok(())
        }
        ask => Err(ask),
    }
}

macro_rules! combine {
    ($($part:ident $place:tt),+) => {
        /// By all parts together: another value of any of them is another key. What one part does not
        /// count, or refuses, is so as a whole; of two costs or policies the later part's stands.
        impl<$($part: Extractor),+> Extractor for ($($part,)+) {
            fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
                let mut terms = Terms::default();
                $(if let Err(ask) = extract_part(&self.$place, request, key, &mut terms) {
                    return ask;
                })+
                Ask::Limit(terms)
            }
        }
    };
}
combine!(A 0, B 1);
combine!(A 0, B 1, C 2);
combine!(A 0, B 1, C 2, D 3);
