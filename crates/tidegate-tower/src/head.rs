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

    /// The address of whoever is connected, as the server left it in the extensions: with the feature
    /// `axum` in axum's `ConnectInfo<SocketAddr>`, with `grpc` in tonic's `TcpConnectInfo`; else in a
    /// [`PeerAddr`].
    #[must_use]
    #[inline]
    pub fn peer(&self) -> Option<IpAddr> {
        // One look-up for those that axum serves.
        #[cfg(feature = "axum")]
        if let Some(info) = self.extensions.get::<axum::extract::ConnectInfo<SocketAddr>>() {
            return Some(info.0.ip());
        }
        #[cfg(feature = "grpc")]
        if let Some(info) = self.extensions.get::<tonic::transport::server::TcpConnectInfo>() {
            return info.remote_addr().map(|address| address.ip());
        }
        self.extensions.get::<PeerAddr>().map(|peer| peer.0.ip())
    }
}

/// The address of whoever is connected, for servers that leave none in the extensions of a request.
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
