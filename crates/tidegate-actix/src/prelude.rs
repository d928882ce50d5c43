//! What must be waited for before a request can be asked about.

use std::future::{Future, Ready};

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use tidegate_middleware::{Ask, Charge, IntoKey, KeyBuf};

use crate::key::Extractor;

/// What comes before the question. Not to be implemented outside of this crate.
pub trait Prelude {
    /// What is waited for.
    type Future: Future<Output: IntoKey>;

    #[doc(hidden)]
    fn start(&self, request: &ServiceRequest) -> Option<Self::Future>;
}

/// Nothing is waited for.
#[derive(Clone, Copy, Debug)]
pub struct NoPrelude;

impl Prelude for NoPrelude {
    type Future = Ready<Option<&'static str>>;

    #[inline]
    fn start(&self, _: &ServiceRequest) -> Option<Self::Future> {
        None
    }
}

/// A function whose future gives the key (see
/// [`RateLimit::key_async`](crate::RateLimit::key_async)).
#[derive(Clone, Copy, Debug)]
pub struct Awaited<F>(pub(crate) F);

impl<F, T> Prelude for Awaited<F>
where
    F: Fn(&ServiceRequest) -> T,
    T: Future<Output: IntoKey>,
{
    type Future = T;

    fn start(&self, request: &ServiceRequest) -> Option<T> {
        Some((self.0)(request))
    }
}

/// By the key that was waited for (see
/// [`RateLimit::key_async`](crate::RateLimit::key_async)).
#[derive(Clone, Copy, Debug)]
pub struct Resolved;

/// What was waited for, on its way to the question.
#[derive(Clone, Debug)]
pub(crate) struct Resolution(pub(crate) Charge);

impl Extractor for Resolved {
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        match request.extensions().get::<Resolution>() {
            Some(Resolution(charge)) => charge.clone().into_key(key),
            None => Ask::Missing("the key was not looked up".into()),
        }
    }
}
