//! Where the service listens: `listen` and `metrics`.

use super::document::{Node, Origin};
use super::keys;
use super::reader::{Fields, Reader};
use crate::settings::Listen;

/// The ports without a word in the configuration.
const HTTP_PORT: u16 = 8080;
const GRPC_PORT: u16 = 8081;
const METRICS_PORT: u16 = 9091;

/// The ports of a configuration.
pub(super) struct Ports {
    pub(super) http: Listen,
    pub(super) grpc: Listen,
    pub(super) metrics: Option<Listen>,
}

/// Every address, IPv6 and IPv4.
fn everywhere(port: u16) -> Listen {
    let host = "::".to_owned();
    Listen { host, port }
}

impl<'a> Reader<'a> {
    pub(super) fn ports(&mut self, top: Fields<'_, 'a>) -> Option<Ports> {
        let listen = top.value("listen");
        let listen = match listen {
            Some(node) => Some(self.fields(node, "listen", keys::LISTEN)?),
            None => None,
        };
        let http = listen.and_then(|fields| fields.value("http"));
        let grpc = listen.and_then(|fields| fields.value("grpc"));
        let ports = Ports {
            http: self.listen_or(http, "listen.http", HTTP_PORT)?,
            grpc: self.listen_or(grpc, "listen.grpc", GRPC_PORT)?,
            metrics: self.metrics(top.value("metrics"))?,
        };
        self.check_apart(top, &ports)?;
        Some(ports)
    }

    fn listen_or(&mut self, node: Option<&Node<'a>>, name: &str, port: u16) -> Option<Listen> {
        match node {
            Some(node) => self.listen(node, name),
            None => Some(everywhere(port)),
        }
    }

    /// An address to listen on.
    fn listen(&mut self, node: &Node<'a>, name: &str) -> Option<Listen> {
        let (text, _) = self.scalar(node, name, "an address and a port")?;
        match parse(text) {
            Ok(listen) => Some(listen),
            Err(reason) => {
                let help = format!("write it like \"[::]:{HTTP_PORT}\" or 127.0.0.1:{HTTP_PORT}");
                self.refuse_with(node, format!("{name}: {reason}"), help);
                None
            }
        }
    }

    /// Where metrics are served. The inner value is none when they are off.
    fn metrics(&mut self, node: Option<&Node<'a>>) -> Option<Option<Listen>> {
        let Some(node) = node else {
            return Some(Some(everywhere(METRICS_PORT)));
        };
        if is_off(node) {
            return Some(None);
        }
        let fields = self.fields(node, "metrics", keys::METRICS)?;
        let rank = |name| fields.value(name).map_or(0, |node| node.origin.rank());
        if rank("listen") > 0 && rank("listen") == rank("port") {
            let listen = fields.key("listen")?;
            self.refuse_with(
                listen,
                "metrics has both `listen` and `port`",
                "remove one of the two",
            );
            return None;
        }
        let on = match fields.value("use_prometheus") {
            Some(node) => self.yes(node, "metrics.use_prometheus")?,
            None => true,
        };
        let port = match fields.value("port") {
            Some(node) => self.port(node)?,
            None => METRICS_PORT,
        };
        match fields.value("listen") {
            Some(node) if is_off(node) => Some(None),
            Some(node) if on || rank("listen") > rank("use_prometheus") => {
                if rank("listen") > rank("port") {
                    return self.listen(node, "metrics.listen").map(Some);
                }
                Some(Some(everywhere(port)))
            }
            _ => Some(on.then(|| everywhere(port))),
        }
    }

    fn port(&mut self, node: &Node<'a>) -> Option<u16> {
        let port = self.whole(node, "metrics.port", (0, u16::MAX.into()))?;
        u16::try_from(port).ok()
    }

    /// Refuses two faces on one port.
    fn check_apart(&mut self, top: Fields<'_, 'a>, ports: &Ports) -> Option<()> {
        let Ports { http, grpc, metrics } = ports;
        let metrics = metrics.as_ref();
        let clash = if same(http, grpc) {
            Some(("http", "gRPC", http, &["listen"][..]))
        } else if metrics.is_some_and(|metrics| same(metrics, http)) {
            Some(("metrics", "http", http, &["metrics", "listen"][..]))
        } else if metrics.is_some_and(|metrics| same(metrics, grpc)) {
            Some(("metrics", "gRPC", grpc, &["metrics", "listen"][..]))
        } else {
            None
        };
        let Some((one, other, listen, sections)) = clash else {
            return Some(());
        };
        let node = sections.iter().find_map(|name| top.key(name));
        let origin = node.map_or(Origin::Default, |node| node.origin);
        let reason = format!("{one} and {other} would both listen on {listen}");
        self.fault(origin, reason, Some("give each its own port".into()));
        None
    }
}

/// Whether two faces cannot listen at the same time. Port 0 is another one each time.
fn same(a: &Listen, b: &Listen) -> bool {
    a == b && a.port != 0
}

fn is_off(node: &Node<'_>) -> bool {
    node.text().is_some_and(|text| matches!(text, "off" | "false"))
}

/// `host:port`, `[::1]:port`, `:port`, or a port alone.
fn parse(text: &str) -> Result<Listen, &'static str> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:").ok_or("after [address] comes a colon and a port")?,
        None => match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => return Err("an IPv6 address needs brackets"),
            Some((host, port)) => (host, port),
            None => ("", text),
        },
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port.parse() {
        Ok(port) if is_number => port,
        _ => return Err("the port must be a number from 0 to 65535"),
    };
    if host.contains(|c: char| c.is_whitespace() || c == '/' || c == '@') {
        return Err("the address holds a character that no host name has");
    }
    let host = if host.is_empty() { "::" } else { host };
    Ok(Listen { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_people_write_it() {
        for (text, shown) in [
            ("[::]:8080", "[::]:8080"),
            (":8080", "[::]:8080"),
            ("8080", "[::]:8080"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("localhost:80", "localhost:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(parse(text).map(|listen| listen.to_string()), Ok(shown.into()));
        }
        for text in ["", ":", "::1:80", "[::1]80", "host", "host:65536", "a b:80", "h:+1"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
