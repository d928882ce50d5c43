//! By a header: an API key, a user, a tenant.

use http::{HeaderName, HeaderValue};
use tidegate_middleware::{Ask, HeaderKey, KeyBuf};

use super::Extractor;
use crate::head::RequestHead;

/// By the value of a header. A request that has it not, empty, or more than once has no key.
///
/// Whoever can choose the value can choose another for every request: believe a header only where
/// something outside of this layer has verified it.
///
/// A fallback's keys share one space with the header's: as it is, the value `192.0.2.1` spends what the
/// address 192.0.2.1 has. Hashed, it cannot.
///
/// # Examples
///
/// ```
/// use http::HeaderName;
/// use tidegate_tower::{Extractor, Header, PeerIp};
///
/// let by_api_key = Header::new(HeaderName::from_static("x-api-key")).hashed();
/// let by_user = Header::new(HeaderName::from_static("x-user")).hashed().or(PeerIp::default());
/// # let _ = (by_api_key, by_user);
/// ```
#[derive(Clone, Debug)]
pub struct Header {
    name: HeaderName,
    key: HeaderKey,
}

impl Header {
    /// By this header, as it is.
    #[must_use]
    pub fn new(name: HeaderName) -> Header {
        let key = HeaderKey::new(name.as_str());
        Header { name, key }
    }

    /// By 128 bits of a hash (SipHash-2-4) of the value, so that a secret does not lie in the store,
    /// and a long value is no longer than others. The same in every process.
    #[must_use]
    pub fn hashed(self) -> Header {
        self.hashed_with([0; 16])
    }

    /// As [`hashed`](Header::hashed), under a secret of one's own: without it nobody who sees the
    /// store can try values out. All processes that share a store must share it.
    #[must_use]
    pub fn hashed_with(self, secret: [u8; 16]) -> Header {
        Header { key: self.key.hashed_with(secret), ..self }
    }
}

impl Extractor for Header {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        let lines = request.headers().get_all(&self.name).iter();
        self.key.write(lines.map(HeaderValue::as_bytes), key)
    }
}
