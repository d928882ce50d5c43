//! How to reach a Redis server.

use std::fmt;
use std::path::PathBuf;

use tidegate::Span;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A TCP port.
    Tcp {
        /// Host name or address, without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A text that appears in no log, error or debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps this text secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, to be handed to the server and nowhere else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How to reach a Redis or Valkey server, and how long to wait for it.
///
/// # Examples
///
/// ```
/// use tidegate_redis::RedisConfig;
///
/// let config = RedisConfig::default();
/// assert_eq!(config.address.to_string(), "127.0.0.1:6379");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisConfig {
    /// Where the server listens; 127.0.0.1:6379 by default.
    pub address: Address,
    /// The user, for servers with access lists; none means the server's default user.
    pub username: Option<String>,
    /// The password, if the server wants one.
    pub password: Option<Secret>,
    /// The database, 0 by default.
    pub db: u32,
    /// What every key begins with; `tidegate` by default.
    pub prefix: String,
    /// The longest that one call may take, connecting included; 50 ms by default.
    pub timeout: Span,
}

impl Default for RedisConfig {
    fn default() -> RedisConfig {
        RedisConfig {
            address: Address::Tcp { host: "127.0.0.1".into(), port: 6379 },
            username: None,
            password: None,
            db: 0,
            prefix: "tidegate".into(),
            timeout: Span::from_millis(50),
        }
    }
}
