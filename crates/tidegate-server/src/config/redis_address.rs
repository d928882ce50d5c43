//! Where a Redis server is: `host:port`, `redis://user:pass@host:port/db`, `unix:/path`,
//! `redis+unix:///path?db=1`.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tidegate_redis::Address;

/// The port without one.
const DEFAULT_PORT: u16 = 6379;

/// What an address says. The password is not resolved yet.
pub(super) struct RedisAddress {
    pub(super) address: Address,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: Option<u32>,
}

/// Reads an address. Errors hold no part of the text: it may be a secret.
pub(super) fn parse(text: &str) -> Result<RedisAddress, String> {
    let lower = text.to_ascii_lowercase();
    let after = |scheme: &str| lower.starts_with(scheme).then(|| &text[scheme.len()..]);
    if let Some(rest) = after("redis://").or_else(|| after("valkey://")) {
        return tcp_url(rest);
    }
    if let Some(rest) = after("redis+unix://").or_else(|| after("unix://")) {
        return unix(rest);
    }
    if let Some(rest) = after("unix:") {
        return unix(rest);
    }
    if after("rediss://").or_else(|| after("valkeys://")).is_some() {
        return Err("TLS (rediss://) is not supported yet; use redis://".into());
    }
    if text.contains("://") {
        return Err("unknown scheme; use redis://, redis+unix:// or host:port".into());
    }
    if text.contains('@') {
        return Err("a user or password needs a URL: redis://user:password@host:port/db".into());
    }
    Ok(RedisAddress { address: host_and_port(text)?, user: None, password: None, db: None })
}

/// What follows `redis://`. The last `@` ends the user's part, so that a password may hold `@`, `:`
/// and `/` as they are.
fn tcp_url(rest: &str) -> Result<RedisAddress, String> {
    let (info, place) = match rest.rsplit_once('@') {
        Some((info, place)) => (Some(info), place),
        None => (None, rest),
    };
    if place.contains(['?', '#']) {
        return Err("nothing may follow the database: redis://host:port/db".into());
    }
    let (place, db) = place.split_once('/').unwrap_or((place, ""));
    let (user, password) = match info {
        Some(info) => user_info(info)?,
        None => (None, None),
    };
    let db = match db {
        "" => None,
        db => Some(database(db)?),
    };
    Ok(RedisAddress { address: host_and_port(place)?, user, password, db })
}

/// `user:password`, either of which may be left out.
fn user_info(info: &str) -> Result<(Option<String>, Option<String>), String> {
    let (user, password) = match info.split_once(':') {
        Some((user, password)) => (user, password),
        None => (info, ""),
    };
    let given = |text: String| (!text.is_empty()).then_some(text);
    Ok((given(decode(user)?), given(decode(password)?)))
}

fn decode(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| "the user or password is not UTF-8 once decoded".into())
}

fn database(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "the database must be a number: redis://host:port/0".into())
}

/// A socket's path, which may be followed by `?db=1`.
fn unix(rest: &str) -> Result<RedisAddress, String> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !path.starts_with('/') {
        return Err("a socket needs its whole path: unix:/run/redis.sock".into());
    }
    let db = match query.split_once('=') {
        _ if query.is_empty() => None,
        Some(("db", db)) => Some(database(db)?),
        _ => return Err("after a socket's path only ?db=N is understood".into()),
    };
    Ok(RedisAddress { address: Address::Unix(PathBuf::from(path)), user: None, password: None, db })
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(text: &str) -> Result<Address, String> {
    let refuse = |reason: &str| Err(format!("{reason}; write it like redis:6379 or [::1]:6379"));
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':').unwrap_or("-"))),
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return refuse("an IPv6 address needs brackets");
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port.map(str::parse) {
        None => DEFAULT_PORT,
        Some(Ok(port)) if port > 0 => port,
        Some(_) => return refuse("the port must be a number from 1 to 65535"),
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
        return refuse("the host is missing");
    }
    let host = host.to_owned();
    Ok(Address::Tcp { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Option<String>, Option<String>, Option<u32>) {
        let read = parse(text).expect(text);
        (read.address.to_string(), read.user, read.password, read.db)
    }

    #[test]
    fn every_usual_way_to_write_an_address_is_read() {
        let some = |text: &str| Some(text.to_owned());
        for (text, address, user, password, db) in [
            ("redis:6379", "redis:6379", None, None, None),
            ("redis", "redis:6379", None, None, None),
            ("[::1]:7000", "[::1]:7000", None, None, None),
            ("redis://host", "host:6379", None, None, None),
            ("REDIS://host:1/2", "host:1", None, None, Some(2)),
            ("redis://me@host:1/0", "host:1", some("me"), None, Some(0)),
            ("redis://:pw@host", "host:6379", None, some("pw"), None),
            ("valkey://me:p%40:w@h/1", "h:6379", some("me"), some("p@:w"), Some(1)),
            ("redis://me:file:/run/pw@h", "h:6379", some("me"), some("file:/run/pw"), None),
            ("unix:/run/r.sock", "unix:/run/r.sock", None, None, None),
            ("redis+unix:///run/r.sock?db=1", "unix:/run/r.sock", None, None, Some(1)),
        ] {
            assert_eq!(read(text), (address.into(), user, password, db), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for text in [
            "",
            "me:hunter2@host",
            "redis://me:hunter2@host:port",
            "redis://me:hunter2@",
            "redis://me:hunter2@host/zero",
            "redis://me:hunter2@host/0?x=1",
            "redis://me:hunter2%ff@host",
            "rediss://me:hunter2@host",
            "http://me:hunter2@host",
            "::1:6379",
            "host:0",
            "host:70000",
            "[::1",
            "[::1]6379",
            "unix:run/r.sock",
            "unix:/r?x=1",
        ] {
            let error = parse(text).map(|_| ()).expect_err(text);
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
