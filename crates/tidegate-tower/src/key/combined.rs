//! Extractors made of others.

use tidegate_middleware::{Ask, IntoCost, KeyBuf, Terms};

use super::Extractor;
use crate::head::RequestHead;

/// By one extractor, or by another where that finds no key (see [`Extractor::or`]). Their keys
/// share one space.
#[derive(Clone, Copy, Debug)]
pub struct Or<K, F> {
    pub(super) first: K,
    pub(super) fallback: F,
}

impl<K: Extractor, F: Extractor> Extractor for Or<K, F> {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        let start = key.len();
        let ask = self.first.extract(request, key);
        ask.or(start, key, |key| self.fallback.extract(request, key))
    }
}

/// By an extractor; what has no key passes uncounted (see [`Extractor::or_skip`]).
#[derive(Clone, Copy, Debug)]
pub struct OrSkip<K>(pub(super) K);

impl<K: Extractor> Extractor for OrSkip<K> {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        self.0.extract(request, key).or_skip()
    }
}

/// By an extractor, at a cost that a function finds (see [`Extractor::cost`]).
#[derive(Clone, Copy, Debug)]
pub struct Costed<K, F> {
    pub(super) key: K,
    pub(super) cost: F,
}

impl<K, F, C> Extractor for Costed<K, F>
where
    K: Extractor,
    F: Fn(&RequestHead<'_>) -> C,
    C: IntoCost,
{
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        self.key.extract(request, key).at(|| (self.cost)(request))
    }
}

/// By an extractor that is shared.
impl<K: Extractor> Extractor for std::sync::Arc<K> {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        K::extract(self, request, key)
    }
}

macro_rules! combine {
    ($($part:ident $place:tt),+) => {
        /// By all parts together: another value of any of them is another key. What one part does not
        /// count, or refuses, is so as a whole; of two costs or policies the later part's stands.
        impl<$($part: Extractor),+> Extractor for ($($part,)+) {
            fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
                let mut terms = Terms::default();
                $(if let Err(ask) = terms.part(key, |key| self.$place.extract(request, key)) {
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
