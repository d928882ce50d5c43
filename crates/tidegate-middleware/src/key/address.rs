//! By an address.

use std::net::IpAddr;

use crate::ask::Ask;
use crate::forwarded::Trust;
use crate::ip::AddressKey;
use crate::keybuf::KeyBuf;

/// Where no address is known.
const UNKNOWN: &str = "the address of the peer is not known";

/// By the address of whoever is connected, without the port; IPv6 by /64. No header is believed.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::{KeyBuf, PeerIp};
///
/// let mut key = KeyBuf::new();
/// let by_customer_network = PeerIp::default().v6_prefix(56);
/// by_customer_network.write(Some("2001:db8:1:1ff::1".parse()?), &mut key);
/// assert_eq!(key.as_bytes(), b"2001:db8:1:100::/56");
/// # Ok::<(), Box<dyn std::error::Error>>(())
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

    /// Writes the key of this peer; without an address there is none.
    #[inline]
    pub fn write(self, peer: Option<IpAddr>, key: &mut KeyBuf) -> Ask {
        let Some(peer) = peer else {
            return Ask::Missing(UNKNOWN.into());
        };
        self.key.write(peer, key);
        Ask::limit()
    }
}

/// By the address that trusted proxies ask for; that of the peer where they cannot be believed.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::{ForwardedKey, KeyBuf, Trust};
///
/// let mut key = KeyBuf::new();
/// let lines = [b"6.6.6.6, 203.0.113.9".as_slice()];
/// let behind_one = ForwardedKey::new(Trust::hops(1));
/// behind_one.write_listed(Some("10.0.0.1".parse()?), lines.into_iter(), &mut key);
/// assert_eq!(key.as_bytes(), b"203.0.113.9");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ForwardedKey {
    trust: Trust,
    with_ports: bool,
    key: AddressKey,
}

impl ForwardedKey {
    /// Believes these proxies.
    #[must_use]
    pub fn new(trust: Trust) -> ForwardedKey {
        ForwardedKey { trust, with_ports: false, key: AddressKey::default() }
    }

    /// Takes `192.0.2.1:4711` and `[2001:db8::1]:4711` in a list for addresses too.
    #[must_use]
    pub fn with_ports(self) -> ForwardedKey {
        ForwardedKey { with_ports: true, ..self }
    }

    /// Counts IPv6 addresses by this many leading bits; 64 by default.
    #[must_use]
    pub fn v6_prefix(self, bits: u8) -> ForwardedKey {
        ForwardedKey { key: AddressKey::by_prefix(bits), ..self }
    }

    /// Writes the key by the lines of a header like `X-Forwarded-For`.
    pub fn write_listed<'a>(
        &self,
        peer: Option<IpAddr>,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
        key: &mut KeyBuf,
    ) -> Ask {
        let client = |peer| self.trust.client_of_list(peer, lines, self.with_ports);
        PeerIp { key: self.key }.write(peer.map(client), key)
    }

    /// Writes the key by the lines of a `Forwarded` header, RFC 7239, which always may have ports.
    pub fn write_rfc7239<'a>(
        &self,
        peer: Option<IpAddr>,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
        key: &mut KeyBuf,
    ) -> Ask {
        let client = |peer| self.trust.client_of_forwarded(peer, lines);
        PeerIp { key: self.key }.write(peer.map(client), key)
    }
}
