//! What the service runs by: the outcome of reading a configuration, checked and complete.

use std::fmt;

pub use tidegate::HeaderDialect;
use tidegate::{MemoryConfig, PolicyTable, Span};
use tidegate_redis::RedisConfig;

/// Everything the service needs to know to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where these settings came from, for the first log line: a file's path or the defaults.
    pub source: String,
    /// Where REST listens.
    pub http: Listen,
    /// Where gRPC listens.
    pub grpc: Listen,
    /// Where metrics are served; none when they are off.
    pub metrics: Option<Listen>,
    /// Which store keeps state.
    pub store: StoreSettings,
    /// What to answer when the store cannot.
    pub on_store_error: Stance,
    /// Whether readiness fails while the store is away.
    pub ready_requires_store: bool,
    /// Which rate limit headers REST sends.
    pub ratelimit_headers: HeaderDialect,
    /// How long to go on accepting after the signal to stop, with readiness already failing.
    pub drain_delay: Span,
    /// The policies, by name.
    pub policies: PolicyTable,
    /// What an operator should hear about this configuration, in order.
    pub notes: Vec<Note>,
}

/// Where a port is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Host name or address, without brackets; `::` means every address, IPv6 and IPv4.
    pub host: String,
    /// The port; 0 lets the system choose.
    pub port: u16,
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The chosen store and its numbers.
#[derive(Clone, Debug)]
pub enum StoreSettings {
    /// In this process.
    Memory(MemoryConfig),
    /// On a Redis or Valkey server.
    Redis(RedisConfig),
}

/// What to answer when the store cannot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stance {
    /// An error: 503, Unavailable.
    #[default]
    Deny,
    /// Allow, marked degraded.
    Allow,
}

impl Stance {
    /// One lowercase word, for metrics and logs.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Stance::Deny => "deny",
            Stance::Allow => "allow",
        }
    }
}

/// A line for the operator about the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Something to know.
    Info(String),
    /// Something that is probably not meant.
    Warn(String),
}
