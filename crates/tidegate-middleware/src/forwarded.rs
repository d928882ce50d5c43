//! Who is behind a chain of proxies. Nothing here knows a protocol's types: headers come as bytes.

mod element;

use std::net::{IpAddr, SocketAddr};

use crate::ip::Cidr;

/// Which proxies are believed when they say for whom they ask.
///
/// # Examples
///
/// ```
/// use std::net::IpAddr;
/// use tidegate_middleware::Trust;
///
/// let trust = Trust::proxies(["10.0.0.0/8".parse()?]);
/// let peer: IpAddr = "10.0.0.1".parse()?;
/// // From the right: the proxy that the peer was asked by, and whom that one was asked by.
/// let chain = ["10.0.0.2".parse().ok(), "203.0.113.9".parse().ok(), "6.6.6.6".parse().ok()];
/// assert_eq!(trust.client(peer, chain), "203.0.113.9".parse::<IpAddr>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trust(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Those with an address in these ranges.
    Proxies(Box<[Cidr]>),
    /// This many, whatever their addresses.
    Hops(usize),
}

impl Trust {
    /// Believes proxies with an address in one of these ranges, and nobody else.
    #[must_use]
    pub fn proxies(ranges: impl IntoIterator<Item = Cidr>) -> Trust {
        Trust(Kind::Proxies(ranges.into_iter().collect()))
    }

    /// Believes the last `hops` proxies of every chain, whatever their addresses: right only when
    /// nobody can reach the service but through all of them. With 0 nobody is believed.
    #[must_use]
    pub fn hops(hops: usize) -> Trust {
        Trust(Kind::Hops(hops))
    }

    /// The address that asks, given that of the peer and the chain of addresses that the peer names,
    /// the last one first; what is no address is none.
    ///
    /// It is the peer where nothing else can be believed: when the peer is not trusted, when what
    /// should be the client is no address, or when the chain is shorter than the trusted hops.
    pub fn client(&self, peer: IpAddr, chain: impl IntoIterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut chain = chain.into_iter();
        match &self.0 {
            Kind::Hops(0) => peer,
            Kind::Hops(hops) => chain.nth(hops - 1).flatten().unwrap_or(peer),
            Kind::Proxies(ranges) => {
                let trusted = |address| ranges.iter().any(|range| range.contains(address));
                let mut client = peer;
                while trusted(client) {
                    match chain.next() {
                        Some(Some(address)) => client = address,
                        Some(None) => return peer,
                        // A trusted proxy asks on its own behalf.
                        None => break,
                    }
                }
                client
            }
        }
    }
}

impl Trust {
    /// The address that asks, by the lines of an `X-Forwarded-For` header. `with_ports` takes
    /// `192.0.2.1:80` for an address too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::net::IpAddr;
    /// use tidegate_middleware::Trust;
    ///
    /// let (peer, client): (IpAddr, IpAddr) = ("10.0.0.1".parse()?, "203.0.113.9".parse()?);
    /// let lines = [b"6.6.6.6, 203.0.113.9".as_slice()];
    /// assert_eq!(Trust::hops(1).client_of_list(peer, lines.into_iter(), false), client);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client_of_list<'a>(
        &self,
        peer: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
        with_ports: bool,
    ) -> IpAddr {
        self.client(peer, listed(lines, with_ports))
    }

    /// The address that asks, by the lines of a `Forwarded` header, RFC 7239.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::net::IpAddr;
    /// use tidegate_middleware::Trust;
    ///
    /// let (peer, client): (IpAddr, IpAddr) = ("10.0.0.1".parse()?, "2001:db8::1".parse()?);
    /// let lines = [br#"for="[2001:db8::1]:4711";proto=https"#.as_slice()];
    /// assert_eq!(Trust::hops(1).client_of_forwarded(peer, lines.into_iter()), client);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client_of_forwarded<'a>(
        &self,
        peer: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> IpAddr {
        self.client(peer, standard(lines))
    }
}

/// The chain in lines of `X-Forwarded-For`, the last address first.
fn listed<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    with_ports: bool,
) -> impl Iterator<Item = Option<IpAddr>> {
    let elements = lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
    elements.map(move |element| address(element.trim_ascii(), with_ports))
}

/// The chain in lines of `Forwarded` (RFC 7239), the last address first.
fn standard<'a>(
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
) -> impl Iterator<Item = Option<IpAddr>> {
    lines.rev().flat_map(element::from_right).map(|element| {
        let node = element::forwarded_for(element)?;
        address(&node, true)
    })
}

/// The address that a text is: `192.0.2.1`, `2001:db8::1`; with ports also `192.0.2.1:80`,
/// `[2001:db8::1]` and `[2001:db8::1]:80`.
fn address(text: &[u8], with_ports: bool) -> Option<IpAddr> {
    // Longer than any address is no address.
    let text = std::str::from_utf8(text.get(..64).map_or(text, |_| b"")).ok()?;
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if !with_ports {
        return None;
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address.ip());
    }
    let bracketed = text.strip_prefix('[')?.strip_suffix(']')?;
    bracketed.parse().ok().map(IpAddr::V6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn list(lines: &[&str]) -> Vec<Option<IpAddr>> {
        listed(lines.iter().map(|line| line.as_bytes()), false).collect()
    }

    fn rfc(lines: &[&str]) -> Vec<Option<IpAddr>> {
        standard(lines.iter().map(|line| line.as_bytes())).collect()
    }

    #[test]
    fn a_chain_is_read_from_the_right_over_all_lines() {
        let chain = list(&["1.1.1.1, 2.2.2.2", "3.3.3.3 ,4.4.4.4"]);
        let expected = ["4.4.4.4", "3.3.3.3", "2.2.2.2", "1.1.1.1"].map(|text| Some(ip(text)));
        assert_eq!(chain, expected);
    }

    /// P43 (d): whatever the text, there is no panic, and no address where there is none.
    #[test]
    fn what_is_no_address_is_none() {
        let long = "1".repeat(10_240);
        for text in ["unknown", "", "[::1]:80", "1.2.3.4:99", &long, "1.2.3", "::1%eth0", "é"] {
            assert_eq!(list(&[text]), [None], "{text}");
        }
        assert_eq!(address(b"1.2.3.4:99", true), Some(ip("1.2.3.4")));
        assert_eq!(address(b"[::1]:80", true), Some(ip("::1")));
        assert_eq!(address(b"[::1]", true), Some(ip("::1")));
        assert_eq!(address(b"[::1", true), None);
    }

    #[test]
    fn the_standard_header_names_nodes_in_every_form_of_the_rfc() {
        let chain = rfc(&[
            r#"for=192.0.2.43, For="[2001:db8:cafe::17]:4711""#,
            r#"for=192.0.2.60;proto=http;by=203.0.113.43, for="192.0.2.1:80""#,
            r#"for=_hidden, for=unknown, proto=https, for="[2001:db8::9]""#,
        ]);
        let expected = [
            Some("2001:db8::9"),
            None,
            None,
            None,
            Some("192.0.2.1"),
            Some("192.0.2.60"),
            Some("2001:db8:cafe::17"),
            Some("192.0.2.43"),
        ];
        assert_eq!(chain, expected.map(|text| text.map(ip)));
    }

    /// What a proxy quotes cannot pass for an element, and a quote that a client leaves open does not
    /// swallow what proxies add behind it.
    #[test]
    fn quotes_neither_forge_nor_swallow_elements() {
        let forged = rfc(&[r#"for=203.0.113.9;host="evil, for=6.6.6.6""#]);
        assert_eq!(forged, [Some(ip("203.0.113.9"))]);
        let escaped = rfc(&[r#"for=203.0.113.9;host="evil\", for=6.6.6.6""#]);
        assert_eq!(escaped, [Some(ip("203.0.113.9"))]);
        let open = rfc(&[r#"for="6.6.6.6, for=203.0.113.9"#]);
        assert_eq!(open[0], Some(ip("203.0.113.9")));
        let twice = rfc(&["for=6.6.6.6;for=203.0.113.9"]);
        assert_eq!(twice, [None]);
    }

    #[test]
    fn an_untrusted_peer_is_itself_whatever_it_says() {
        let trust = Trust::proxies(["10.0.0.0/8".parse().unwrap()]);
        assert_eq!(trust.client(ip("203.0.113.9"), list(&["6.6.6.6"])), ip("203.0.113.9"));
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_trusted() {
        let trust = Trust::proxies(["10.0.0.0/8".parse().unwrap()]);
        let client = |chain: &str| trust.client(ip("10.0.0.1"), list(&[chain]));
        assert_eq!(client("6.6.6.6, 9.9.9.9, 10.0.0.2"), ip("9.9.9.9"));
        assert_eq!(client("10.0.0.3, 10.0.0.2"), ip("10.0.0.3"), "all trusted");
        assert_eq!(client("9.9.9.9, unknown, 10.0.0.2"), ip("10.0.0.1"), "not to be believed");
        assert_eq!(trust.client(ip("10.0.0.1"), []), ip("10.0.0.1"), "no header");
    }

    /// P43 (e): a chain that is too short was not made by the proxies that are trusted.
    #[test]
    fn trusted_hops_are_counted_from_the_right() {
        let client = |hops, chain: &str| Trust::hops(hops).client(ip("10.0.0.1"), list(&[chain]));
        assert_eq!(client(1, "6.6.6.6, 9.9.9.9"), ip("9.9.9.9"));
        assert_eq!(client(2, "6.6.6.6, 9.9.9.9, 10.0.0.2"), ip("9.9.9.9"));
        assert_eq!(client(2, "6.6.6.6"), ip("10.0.0.1"));
        assert_eq!(client(0, "6.6.6.6"), ip("10.0.0.1"));
    }
}
