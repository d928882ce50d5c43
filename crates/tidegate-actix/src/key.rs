//! Whom a request is counted for.

mod combined;
mod forwarded;
mod header;
mod request;

use std::net::IpAddr;

use actix_web::dev::ServiceRequest;

pub use combined::{Costed, Or, OrSkip};
pub use forwarded::ForwardedIp;
pub use header::Header;
pub use request::{ByMethod, MatchedRoute};

use tidegate_middleware::{Ask, IntoCost, IntoKey, KeyBuf};

/// Finds out whom a request is counted for.
///
/// Besides the ready ones, a function of a [`ServiceRequest`] is one, and a tuple of extractors is
/// one: of `(MatchedRoute, PeerIp::default())`, every peer counts anew on every route.
///
/// # Examples
///
/// ```
/// use actix_web::dev::ServiceRequest;
/// use tidegate_actix::{Ask, Extractor, KeyBuf};
///
/// /// By the first letter of the path.
/// struct FirstLetter;
///
/// impl Extractor for FirstLetter {
///     fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
///         match request.path().as_bytes().get(1) {
///             Some(letter) => key.push(&[*letter]),
///             None => return Ask::Missing("the path is empty".into()),
///         }
///         Ask::limit()
///     }
/// }
/// ```
pub trait Extractor {
    /// Writes the key behind what is there, and says what becomes of the request.
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask;

    /// Counts by `fallback` when there is no key.
    ///
    /// The keys of both share one space: a user who may be named like an address spends what that
    /// address has. [`Header::hashed`] tells them apart.
    ///
    /// # Examples
    ///
    /// ```
    /// use tidegate_actix::{Extractor, PeerIp};
    ///
    /// let known = PeerIp::default().or("unknown");
    /// # let _ = known;
    /// ```
    fn or<F: Extractor>(self, fallback: F) -> Or<Self, F>
    where
        Self: Sized,
    {
        Or { first: self, fallback }
    }

    /// Lets the request pass uncounted when there is no key.
    fn or_skip(self) -> OrSkip<Self>
    where
        Self: Sized,
    {
        OrSkip(self)
    }

    /// Counts at the cost that `cost` finds, when no other was found before.
    ///
    /// A cost that cannot be found is no missing key: the request is refused with 400, whatever the
    /// fallback.
    fn cost<F, C>(self, cost: F) -> Costed<Self, F>
    where
        Self: Sized,
        F: Fn(&ServiceRequest) -> C,
        C: IntoCost,
    {
        Costed { key: self, cost }
    }
}

impl<F, K> Extractor for F
where
    F: Fn(&ServiceRequest) -> K,
    K: IntoKey,
{
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        self(request).into_key(key)
    }
}

/// One key for all.
impl Extractor for &'static str {
    fn extract(&self, _: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        self.into_key(key)
    }
}

/// The address of whoever is connected; none on a Unix socket.
fn peer(request: &ServiceRequest) -> Option<IpAddr> {
    request.peer_addr().map(|peer| peer.ip())
}
