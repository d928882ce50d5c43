//! By what layers outside have found out, and by what the request is.

use std::fmt;
use std::marker::PhantomData;

use super::Extractor;
use crate::ask::{Ask, IntoKey, Reason};
use crate::head::RequestHead;
use crate::keybuf::KeyBuf;

/// By a value in the request's extensions: what a layer outside of this one has put there, a user who
/// is logged in for instance. A request without one has no key.
///
/// # Examples
///
/// ```
/// use tidegate_tower::Extension;
///
/// #[derive(Clone)]
/// struct User { id: u64 }
///
/// let by_user = Extension::by(|user: &User| user.id);
/// # let _ = by_user;
/// ```
pub struct Extension<T, F = fn(&T) -> T> {
    key: F,
    missing: Reason,
    of: PhantomData<fn(&T)>,
}

impl<T: IntoKey + Clone> Extension<T> {
    /// By the value itself.
    #[must_use]
    pub fn new() -> Extension<T> {
        Extension { key: T::clone, missing: missing::<T>(), of: PhantomData }
    }
}

impl<T: IntoKey + Clone> Default for Extension<T> {
    fn default() -> Extension<T> {
        Extension::new()
    }
}

impl<T, F, K> Extension<T, F>
where
    F: Fn(&T) -> K,
    K: IntoKey,
{
    /// By what a function makes of the value.
    #[must_use]
    pub fn by(key: F) -> Extension<T, F> {
        Extension { key, missing: missing::<T>(), of: PhantomData }
    }
}

impl<T, F, K> Extractor for Extension<T, F>
where
    T: Send + Sync + 'static,
    F: Fn(&T) -> K,
    K: IntoKey,
{
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        match request.extensions().get::<T>() {
            Some(value) => (self.key)(value).into_key(key),
            None => Ask::Missing(self.missing.clone()),
        }
    }
}

/// That there is no such value, in words.
fn missing<T>() -> Reason {
    let name = std::any::type_name::<T>();
    let name = name.rsplit("::").next().unwrap_or(name);
    Reason::from(format!("the request has no {name}"))
}

impl<T, F> fmt::Debug for Extension<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").finish_non_exhaustive()
    }
}

/// By the method of the request, to be combined with other parts.
///
/// # Examples
///
/// ```
/// use tidegate_tower::{ByMethod, PeerIp};
///
/// let key = (ByMethod, PeerIp::default());
/// # let _ = key;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByMethod;

impl Extractor for ByMethod {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        key.push(request.method().as_str().as_bytes());
        Ask::limit()
    }
}

/// By the route that axum's router found, as it is written in the router: `/users/{id}`. However a
/// request spells its path, what reaches one handler is one key.
///
/// The router finds it before it calls the layers of its routes. Where there is no such route, there is
/// no key: use [`or`](Extractor::or) or [`or_skip`](Extractor::or_skip), or put the layer on with
/// `Router::route_layer`, which only wraps routes.
///
/// # Examples
///
/// ```
/// use tidegate_tower::{Extractor, MatchedRoute, PeerIp};
///
/// let per_route_and_peer = (MatchedRoute.or("no route"), PeerIp::default());
/// # let _ = per_route_and_peer;
/// ```
#[cfg(feature = "axum")]
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchedRoute;

#[cfg(feature = "axum")]
impl Extractor for MatchedRoute {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        let Some(route) = request.extensions().get::<axum::extract::MatchedPath>() else {
            return Ask::Missing("no route matches".into());
        };
        key.push(route.as_str().as_bytes());
        Ask::limit()
    }
}
