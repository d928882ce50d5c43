//! By the address of whoever is connected.

use super::Extractor;
use crate::ask::Ask;
use crate::head::RequestHead;
use crate::ip::AddressKey;
use crate::keybuf::KeyBuf;

/// By the address of whoever is connected, without the port; IPv6 by /64. No header is believed.
///
/// The address comes from the request's extensions (see [`RequestHead::peer`]).
///
/// # Examples
///
/// ```
/// use tidegate_tower::PeerIp;
///
/// let by_customer_network = PeerIp::default().v6_prefix(56);
/// # let _ = by_customer_network;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerIp {
    key: AddressKey,
}

impl PeerIp {
    /// Counts IPv6 addresses by this many leading bits; 64 by default.
    #[must_use]
    pub fn v6_prefix(self, bits: u8) -> PeerIp {
        PeerIp { key: AddressKey::by_prefix(bits) }
    }
}

impl Extractor for PeerIp {
    fn extract(&self, request: &RequestHead<'_>, key: &mut KeyBuf) -> Ask {
        let Some(peer) = request.peer() else {
            return Ask::Missing("the address of the peer is not known".into());
        };
        self.key.write(peer, key);
        Ask::limit()
    }
}
