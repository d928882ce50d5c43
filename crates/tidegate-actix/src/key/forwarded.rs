//! By the address behind proxies.

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{FORWARDED, HeaderName, HeaderValue};
use tidegate_middleware::{Ask, ForwardedKey, KeyBuf, Trust};

use super::{Extractor, peer};

/// By the address that trusted proxies ask for; that of the peer where they cannot be believed.
///
/// Proxies write the address of whoever asks them behind what is there, so a header is read from the
/// right, and no further than the trusted proxies reach: what a client wrote itself is never seen.
///
/// # Examples
///
/// ```
/// use tidegate_actix::{ForwardedIp, Trust};
///
/// // Behind load balancers in 10.0.0.0/8, which write X-Forwarded-For.
/// let behind_balancers = ForwardedIp::new(Trust::proxies(["10.0.0.0/8".parse()?]));
/// // Behind exactly two proxies, which write the Forwarded header of RFC 7239.
/// let behind_two = ForwardedIp::new(Trust::hops(2)).rfc7239();
/// # let _ = (behind_balancers, behind_two);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ForwardedIp {
    header: HeaderName,
    key: ForwardedKey,
}

impl ForwardedIp {
    /// Believes these proxies, and reads `X-Forwarded-For`.
    #[must_use]
    pub fn new(trust: Trust) -> ForwardedIp {
        ForwardedIp {
            header: HeaderName::from_static("x-forwarded-for"),
            key: ForwardedKey::new(trust),
        }
    }

    /// Reads `Forwarded` (RFC 7239) instead.
    #[must_use]
    pub fn rfc7239(self) -> ForwardedIp {
        self.header(FORWARDED)
    }

    /// Reads another header instead, of one address or a list like that of `X-Forwarded-For`.
    #[must_use]
    pub fn header(self, header: HeaderName) -> ForwardedIp {
        ForwardedIp { header, ..self }
    }

    /// Takes `192.0.2.1:4711` and `[2001:db8::1]:4711` for addresses too, for proxies that write
    /// ports into `X-Forwarded-For`. Without, they are not believed. `Forwarded` always has ports.
    #[must_use]
    pub fn with_ports(self) -> ForwardedIp {
        ForwardedIp { key: self.key.with_ports(), ..self }
    }

    /// Counts IPv6 addresses by this many leading bits; 64 by default.
    #[must_use]
    pub fn v6_prefix(self, bits: u8) -> ForwardedIp {
        ForwardedIp { key: self.key.v6_prefix(bits), ..self }
    }
}

impl Extractor for ForwardedIp {
    fn extract(&self, request: &ServiceRequest, key: &mut KeyBuf) -> Ask {
        let lines = request.headers().get_all(&self.header).map(HeaderValue::as_bytes);
        if self.header == FORWARDED {
            self.key.write_rfc7239(peer(request), lines, key)
        } else {
            self.key.write_listed(peer(request), lines, key)
        }
    }
}
