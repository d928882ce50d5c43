//! What went wrong at Redis becomes a store error.

use redis::{ErrorKind, RedisError, ServerErrorKind};
use tidegate::{StoreError, StoreErrorKind};

/// The code of our scripts' own error, see `scripts/prelude.lua`.
const FOREIGN: &str = "FOREIGN";

/// Error codes of a server that cannot serve just now.
const UNABLE: [&str; 11] = [
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "READONLY",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MISCONF",
    "OOM",
    "NOREPLICAS",
    "MOVED",
    "ASK",
];

/// What a server says, beside its codes, to those who lack a right. A script's error wraps the code.
const FORBIDDEN: [&str; 5] = [
    "NOAUTH",
    "NOPERM",
    "WRONGPASS",
    "Authentication required",
    "The user executing the script can't",
];

/// The store error that an error at `address` amounts to.
pub(crate) fn store_error(address: &str, error: &RedisError) -> StoreError {
    let kind = kind(error);
    let message = match kind {
        StoreErrorKind::ForeignData => error.detail().unwrap_or_default().to_owned(),
        _ => format!("{address}: {error}"),
    };
    StoreError::new(kind, message)
}

fn kind(error: &RedisError) -> StoreErrorKind {
    let said = error.to_string();
    let says = |text: &&str| said.contains(text);
    match (error.kind(), error.code()) {
        (_, Some(FOREIGN)) => StoreErrorKind::ForeignData,
        (ErrorKind::AuthenticationFailed | ErrorKind::Server(ServerErrorKind::NoPerm), _) => {
            StoreErrorKind::Auth
        }
        (ErrorKind::Io, _) if error.is_timeout() => StoreErrorKind::Timeout,
        (ErrorKind::Io, _) => StoreErrorKind::Unavailable,
        (_, Some(code)) if UNABLE.contains(&code) => StoreErrorKind::Unavailable,
        _ if FORBIDDEN.iter().any(says) => StoreErrorKind::Auth,
        _ => StoreErrorKind::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(code: &str, detail: &str) -> StoreErrorKind {
        let error = redis::make_extension_error(code.into(), Some(detail.into()));
        kind(&error)
    }

    #[test]
    fn each_refusal_has_its_kind() {
        assert_eq!(kind_of("NOAUTH", "Authentication required."), StoreErrorKind::Auth);
        assert_eq!(kind_of("FOREIGN", "x"), StoreErrorKind::ForeignData);
        assert_eq!(kind_of("OOM", "command not allowed"), StoreErrorKind::Unavailable);
        assert_eq!(kind_of("WHATEVER", "odd"), StoreErrorKind::Protocol);
    }

    #[test]
    fn a_lost_connection_is_unavailable() {
        let lost = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert_eq!(kind(&RedisError::from(lost)), StoreErrorKind::Unavailable);
    }
}
