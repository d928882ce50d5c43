//! What extractors see of a request.

use std::net::{IpAddr, SocketAddr};

use http::{Extensions, HeaderMap, Method, Request, Uri, Version};

/// A request without its body: whatever the body's type, extractors see the same.
///
/// # Examples
///
/// ```
/// use tidegate_tower::RequestHead;
///
/// let request = http::Request::get("/search?q=tide").body(())?;
/// assert_eq!(RequestHead::of(&request).uri().path(), "/search");
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    version: Version,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> RequestHead<'a> {
    /// The head of this request.
    #[must_use]
    #[inline]
    pub fn of<B>(request: &'a Request<B>) -> RequestHead<'a> {
        RequestHead {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &'a Method {
        self.method
    }

    /// The target.
    #[must_use]
    pub fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// The version of HTTP.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What layers outside of this one left for it.
    #[must_use]
    pub fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// The address of whoever is connected, as it was left in the extensions: in a [`PeerAddr`], which
    /// overrides what the server left; else with the feature `axum` in axum's
    /// `ConnectInfo<SocketAddr>`, with `grpc` in tonic's `TcpConnectInfo`.
    #[must_use]
    #[inline]
    pub fn peer(&self) -> Option<IpAddr> {
        let own = || self.extensions.get::<PeerAddr>().map(|peer| peer.0.ip());
        match self.extensions.len() {
            // What is alone there is not overridden. Mostly it is the server's.
            1 => self.connected().or_else(own),
            _ => own().or_else(|| self.connected()),
        }
    }

    /// The address that the server left.
    #[inline]
    fn connected(&self) -> Option<IpAddr> {
        #[cfg(feature = "axum")]
        if let Some(info) = self.extensions.get::<axum::extract::ConnectInfo<SocketAddr>>() {
            return Some(info.0.ip());
        }
        #[cfg(feature = "grpc")]
        if let Some(info) = self.extensions.get::<tonic::transport::server::TcpConnectInfo>()
            && let Some(address) = info.remote_addr()
        {
            return Some(address.ip());
        }
        None
    }
}

/// The address of whoever is connected, for servers that leave none in the extensions of a request, or
/// in place of the one that they leave.
///
/// # Examples
///
/// ```
/// use std::net::SocketAddr;
/// use tidegate_tower::{PeerAddr, RequestHead};
///
/// let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
/// let request = http::Request::get("/").extension(PeerAddr(peer)).body(())?;
/// assert_eq!(RequestHead::of(&request).peer(), Some(peer.ip()));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub SocketAddr);

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "axum")]
    #[test]
    fn a_peer_of_ones_own_overrides_the_servers() {
        let peer = |last| SocketAddr::from(([192, 0, 2, last], 4711));
        let mut request = Request::new(());
        request.extensions_mut().insert(axum::extract::ConnectInfo(peer(1)));
        assert_eq!(RequestHead::of(&request).peer(), Some(peer(1).ip()));
        request.extensions_mut().insert(PeerAddr(peer(2)));
        assert_eq!(RequestHead::of(&request).peer(), Some(peer(2).ip()));
    }
}
