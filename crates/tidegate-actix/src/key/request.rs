//! By who is connected, by what others have found out, and by what the request is.

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use tidegate_middleware::{Ask, Extension, IntoKey, KeyBuf, PeerIp};

use super::{Extractor, peer};

/// By `ServiceRequest::peer_addr`.
impl Extractor for PeerIp {
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        self.write(peer(request), key)
    }
}

/// By what middlewares outside of this one have put into the request's extensions.
impl<T, F, K> Extractor for Extension<T, F>
where
    T: 'static,
    F: Fn(&T) -> K,
    K: IntoKey,
{
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        self.write(request.extensions().get(), key)
    }
}

/// By the method of the request, to be combined with other parts.
///
/// # Examples
///
/// ```
/// use tidegate_actix::{ByMethod, PeerIp};
///
/// let key = (ByMethod, PeerIp::default());
/// # let _ = key;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByMethod;

impl Extractor for ByMethod {
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        key.push(request.method().as_str().as_bytes());
        Ask::limit()
    }
}

/// By the route that the request is for, as it is written in the app: `/users/{id}`. However a request
/// spells its path, what reaches one resource is one key.
///
/// Where there is no such route, there is no key: use [`or`](Extractor::or) or
/// [`or_skip`](Extractor::or_skip), or put the middleware on resources alone.
///
/// # Examples
///
/// ```
/// use tidegate_actix::{Extractor, MatchedRoute, PeerIp};
///
/// let per_route_and_peer = (MatchedRoute.or("no route"), PeerIp::default());
/// # let _ = per_route_and_peer;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchedRoute;

impl Extractor for MatchedRoute {
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        let Some(route) = route(request) else {
            return Ask::Missing("no route matches".into());
        };
        key.push(route.as_bytes());
        Ask::limit()
    }
}

/// The pattern of the resource that the router leads to, or has led to.
///
/// Before it has, `match_pattern` looks for the path as it was sent, but the router decodes it first:
/// without that, `/%6Cogin` would reach `/login` and not be found here.
fn route(request: &ServiceRequest) -> Option<String> {
    if !request.path().contains('%') {
        return request.match_pattern();
    }
    let path = request.match_info();
    let decoded = || request.resource_map().match_pattern(path.as_str());
    match path.unprocessed() {
        // Led to its end: what is known is what the router chose.
        "" => request.match_pattern().or_else(decoded),
        _ => decoded(),
    }
}
