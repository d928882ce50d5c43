//! Addresses as keys, and ranges of addresses. Nothing here knows a protocol.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use crate::keybuf::KeyBuf;

/// How an address becomes a key: without its port, IPv6 by its network, an IPv4 address that is mapped
/// into IPv6 as what it is.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::{AddressKey, KeyBuf};
///
/// let mut key = KeyBuf::new();
/// AddressKey::default().write("2001:db8:1:1::14".parse()?, &mut key);
/// assert_eq!(key.as_bytes(), b"2001:db8:1:1::/64");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressKey {
    v6_prefix: u8,
}

impl AddressKey {
    /// IPv6 addresses count by this many leading bits, at most 128. One user commonly has a /64,
    /// sometimes a /56.
    #[must_use]
    pub const fn by_prefix(bits: u8) -> AddressKey {
        AddressKey { v6_prefix: if bits > 128 { 128 } else { bits } }
    }

    /// Writes the key of this address behind what is there.
    #[inline(always)]
    pub fn write(self, address: IpAddr, key: &mut KeyBuf) {
        match address {
            IpAddr::V4(address) => write_octets(address.octets(), key),
            IpAddr::V6(address) => self.write_v6(address, key),
        }
    }

    #[inline(never)]
    fn write_v6(self, address: Ipv6Addr, key: &mut KeyBuf) {
        match address.to_ipv4_mapped() {
            Some(address) => write_octets(address.octets(), key),
            None if self.v6_prefix == 128 => key.write(&address),
            None => {
                let network = address.to_bits() & mask(self.v6_prefix);
                key.write(&format_args!("{}/{}", Ipv6Addr::from_bits(network), self.v6_prefix));
            }
        }
    }
}

/// By /64.
impl Default for AddressKey {
    fn default() -> AddressKey {
        AddressKey::by_prefix(64)
    }
}

/// An octet in decimal digits with a dot behind: its first character in the lowest byte.
#[derive(Clone, Copy)]
struct Octet {
    text: u32,
    /// How many bits of it are used.
    bits: u32,
}

static OCTETS: [Octet; 256] = {
    let mut octets = [Octet { text: 0, bits: 0 }; 256];
    let mut value: u32 = 0;
    while value < 256 {
        let (mut text, mut bits, mut rest) = (b'.' as u32, 8, value);
        while bits == 8 || rest > 0 {
            text = text << 8 | (b'0' as u32 + rest % 10);
            bits += 8;
            rest /= 10;
        }
        octets[value as usize] = Octet { text, bits };
        value += 1;
    }
    octets
};

/// Writes an IPv4 address: each request does, so by a table, and in one piece.
#[inline]
fn write_octets(octets: [u8; 4], key: &mut KeyBuf) {
    let [a, b, c, d] = octets.map(|octet| OCTETS[usize::from(octet)]);
    let both = |first: Octet, second: Octet| {
        let text = u64::from(first.text) | u64::from(second.text) << first.bits;
        (text, first.bits + second.bits)
    };
    let ((front, front_bits), (back, back_bits)) = (both(a, b), both(c, d));
    // The front half may fill its word, and a shift by all 64 bits is none.
    let first = front | back.checked_shl(front_bits).unwrap_or(0);
    let second = back >> (64 - front_bits);
    // The last dot is one too many.
    key.push_words([first, second], (front_bits + back_bits) as usize / 8 - 1);
}

/// The first `bits` of 128 set.
const fn mask(bits: u8) -> u128 {
    match bits {
        0 => 0,
        bits => u128::MAX << (128 - bits as u32),
    }
}

/// A range of addresses: `10.0.0.0/8`, `2001:db8::/32`, or one address.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::Cidr;
///
/// let inside: Cidr = "10.0.0.0/8".parse()?;
/// assert!(inside.contains("10.1.2.3".parse()?));
/// assert!(inside.contains("::ffff:10.1.2.3".parse()?));
/// assert!(!inside.contains("11.0.0.1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Whether the address lies inside. One that is mapped into IPv6 counts as the IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = u128::from(network.to_bits() ^ address.to_bits()) << 96;
                differing & mask(self.bits) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()) & mask(self.bits) == 0
            }
            _ => false,
        }
    }
}

/// Exactly this address.
impl From<IpAddr> for Cidr {
    fn from(address: IpAddr) -> Cidr {
        let network = address.to_canonical();
        Cidr { network, bits: if network.is_ipv4() { 32 } else { 128 } }
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Cidr, CidrError> {
        let wrong = || CidrError { text: text.to_owned() };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if network.is_ipv4() { 32 } else { 128 };
        let Some(bits) = bits else {
            return Ok(Cidr::from(network));
        };
        let digits = (1..=3).contains(&bits.len()) && bits.bytes().all(|b| b.is_ascii_digit());
        let bits: Option<u8> = bits.parse().ok().filter(|bits| digits && *bits <= most);
        let bits = bits.ok_or_else(wrong)?;
        match network.to_canonical() {
            // Mapped into IPv6, it holds IPv4 addresses: by its first 96 bits it is mapped.
            mapped @ IpAddr::V4(_) if network.is_ipv6() => {
                Ok(Cidr { network: mapped, bits: bits.checked_sub(96).ok_or_else(wrong)? })
            }
            network => Ok(Cidr { network, bits }),
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

/// A text that is no range of addresses.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::Cidr;
///
/// let error = "10.0.0.0/33".parse::<Cidr>().unwrap_err();
/// assert!(error.to_string().starts_with("`10.0.0.0/33` is no range of addresses"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CidrError {
    text: String,
}

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        write!(f, "`{text}` is no range of addresses; write one as 10.0.0.0/8 or 2001:db8::/32")
    }
}

impl std::error::Error for CidrError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str, key: AddressKey) -> String {
        let mut written = KeyBuf::new();
        key.write(address.parse().unwrap(), &mut written);
        String::from_utf8(written.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn an_ipv4_address_is_written_as_everyone_writes_it() {
        for octet in 0..=255 {
            let address = format!("{octet}.0.{octet}.{}", 255 - octet);
            assert_eq!(key(&address, AddressKey::default()), address);
        }
    }

    /// However full the buffer is, and wherever it lies.
    #[test]
    fn an_ipv4_address_is_written_behind_any_key() {
        for address in ["0.0.0.0", "10.0.0.255", "255.255.255.255"] {
            for before in 0..100 {
                let mut written = KeyBuf::new();
                written.push(&vec![b'x'; before]);
                for _ in 0..2 {
                    AddressKey::default().write(address.parse().unwrap(), &mut written);
                }
                let expected = format!("{}{address}{address}", "x".repeat(before));
                assert_eq!(written.as_bytes(), expected.as_bytes());
            }
        }
    }

    /// P44: whoever owns a /64 owns one key.
    #[test]
    fn an_ipv6_address_counts_by_its_network() {
        assert_eq!(key("2001:db8:1:1::14", AddressKey::default()), "2001:db8:1:1::/64");
        assert_eq!(key("2001:db8:1:1ff::1", AddressKey::by_prefix(56)), "2001:db8:1:100::/56");
        assert_eq!(key("2001:db8::1", AddressKey::by_prefix(128)), "2001:db8::1");
        assert_eq!(key("2001:db8::1", AddressKey::by_prefix(0)), "::/0");
    }

    /// P44: a plain /64 would make one key of every mapped address.
    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        assert_eq!(key("::ffff:192.0.2.1", AddressKey::default()), "192.0.2.1");
        assert_eq!(key("::ffff:198.51.100.1", AddressKey::default()), "198.51.100.1");
    }

    #[test]
    fn ranges_hold_what_they_say() {
        let holds = |range: &str, address: &str| {
            range.parse::<Cidr>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("0.0.0.0/0", "203.0.113.9"));
        assert!(holds("127.0.0.1", "127.0.0.1") && !holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("10.1.0.0/16", "10.1.255.255") && !holds("10.1.0.0/16", "10.2.0.0"));
        assert!(
            holds("2001:db8::/32", "2001:db8:ffff::1") && !holds("2001:db8::/32", "2001:db9::")
        );
        assert!(!holds("0.0.0.0/0", "2001:db8::1") && !holds("::/0", "192.0.2.1"));
    }

    /// A range that is trusted but holds nobody would count all behind a proxy as one.
    #[test]
    fn a_mapped_range_is_the_ipv4_range() {
        for (mapped, plain) in [
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:192.0.2.1/128", "192.0.2.1/32"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:0.0.0.0/96", "0.0.0.0/0"),
        ] {
            assert_eq!(mapped.parse::<Cidr>(), plain.parse::<Cidr>(), "{mapped}");
        }
        let mapped: Cidr = "::ffff:10.0.0.0/104".parse().unwrap();
        assert!(mapped.contains("10.1.2.3".parse().unwrap()));
        assert!(mapped.contains("::ffff:10.1.2.3".parse().unwrap()));
        assert!(!mapped.contains("11.1.2.3".parse().unwrap()));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/+8", "a/8"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
        for text in ["::ffff:10.0.0.0/95", "::ffff:10.0.0.0/8", "::ffff:10.0.0.0/129"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}
