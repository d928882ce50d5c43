//! By a header: an API key, a user, a tenant.

use http::HeaderName;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::hash::Hasher;

use super::Extractor;
use crate::ask::{Ask, Reason, bytes_as_key};
use crate::head::RequestHead;
use crate::keybuf::KeyBuf;

/// By the value of a header. A request that has it not, empty, or more than once has no key.
///
/// Whoever can choose the value can choose another for every request: believe a header only where
/// something outside of this layer has verified it.
///
/// # Examples
///
/// ```
/// use http::HeaderName;
/// use tidegate_tower::{Extractor, Header, PeerIp};
///
/// let by_api_key = Header::new(HeaderName::from_static("x-api-key")).hashed();
/// let by_user = Header::new(HeaderName::from_static("x-user")).or(PeerIp::default());
/// # let _ = (by_api_key, by_user);
/// ```
#[derive(Clone, Debug)]
pub struct Header {
    name: HeaderName,
    hash: Option<[u8; 16]>,
    missing: Reason,
    repeated: Reason,
}

impl Header {
    /// By this header, as it is.
    #[must_use]
    pub fn new(name: HeaderName) -> Header {
        let missing = Reason::from(format!("{name}: missing"));
        let repeated = Reason::from(format!("{name}: given more than once"));
        Header { name, hash: None, missing, repeated }
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
        Header { hash: Some(secret), ..self }
    }
}

impl Extractor for Header {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        let mut lines = request.headers().get_all(&self.name).iter();
        let Some(value) = lines.next().filter(|value| !value.is_empty()) else {
            return Ask::Missing(self.missing.clone());
        };
        // Two would leave it to chance which of them counts.
        if lines.next().is_some() {
            return Ask::Missing(self.repeated.clone());
        }
        match &self.hash {
            None => bytes_as_key(value.as_bytes(), key),
            Some(secret) => {
                let mut hasher = SipHasher24::new_with_key(secret);
                hasher.write(value.as_bytes());
                key.push(&hasher.finish128().as_bytes());
                Ask::limit()
            }
        }
    }
}
