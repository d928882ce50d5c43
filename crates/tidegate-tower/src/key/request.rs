//! By what layers outside have found out, and by what the request is.

use tidegate_middleware::{Ask, Extension, IntoKey, KeyBuf, PeerIp};

use super::Extractor;
use crate::head::RequestHead;

/// By [`RequestHead::peer`].
impl Extractor for PeerIp {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        self.write(request.peer(), key)
    }
}

/// By what layers outside of this one have put into the request's extensions.
impl<T, F, K> Extractor for Extension<T, F>
where
    T: Send + Sync + 'static,
    F: Fn(&T) -> K,
    K: IntoKey,
{
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        self.write(request.extensions().get(), key)
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
