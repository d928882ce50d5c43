//! The bounds on everything that comes from outside.

use std::time::Duration;

use tidegate::Span;

/// The policy asked when none is named.
pub(crate) const DEFAULT_POLICY: &str = "default";

/// The most checks in one request.
pub(crate) const MAX_CHECKS: usize = 1_000;

/// The longest body that `/limit` reads and throws away, in bytes.
pub(crate) const MAX_IGNORED_BODY: usize = 64 * 1024;

/// The longest JSON body, in bytes: [`MAX_CHECKS`] checks with keys of full length fit.
pub(crate) const MAX_JSON_BODY: usize = 2 * 1024 * 1024;

/// The longest gRPC message, in bytes: [`MAX_CHECKS`] checks with keys of full length fit.
pub(crate) const MAX_GRPC_MESSAGE: usize = 2 * 1024 * 1024;

/// The longest head of an HTTP request, in bytes.
pub(crate) const MAX_HEAD: usize = 16 * 1024;

/// The time a client has for the head of a request. Connections are looked at every [`LOOK_EVERY`], so
/// one whose head does not come is closed between five and six seconds after its first byte.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a connection is looked at for a client that keeps it waiting.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The time that an HTTP/1 connection may lie idle: longer than the pools of usual clients keep it,
/// so that it is they who close it and no request meets a closed door.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// The time a client has for a body.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(8);

/// The most connections on one port; further ones wait to be accepted.
pub(crate) const MAX_CONNECTIONS: usize = 65_536;

/// The most requests at a time on one HTTP/2 connection.
pub(crate) const MAX_STREAMS: u32 = 1_024;

/// The most messages of a gRPC stream that are decided together.
pub(crate) const MAX_GATHERED: usize = 64;

/// How often an HTTP/2 connection without traffic is asked for a sign of life, and how long that
/// may take.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(30);
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// The longest that the service goes on after the signal to stop.
pub(crate) const MAX_DRAIN: Span = Span::from_secs(3_600);

/// The time that requests in flight have to finish when the service stops. The process ends within
/// ten seconds; what is left of them is for cutting off the rest.
pub(crate) const GRACE: Duration = Duration::from_secs(9);

/// When the service stops, a kept connection on which nothing came for this long is closed: a request
/// that was on its way is answered.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// The time that an HTTP/2 client without requests has to say that it heard of the end.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// The time that a client has to read its last answer before its connection is closed.
pub(crate) const LINGER: Duration = Duration::from_millis(500);

/// How often the store is asked whether it is there.
pub(crate) const PROBE_EVERY: Duration = Duration::from_secs(1);

/// The connections to one port that the system holds until they are accepted.
pub(crate) const BACKLOG: i32 = 1_024;

/// The pause after an accept that failed for want of something that others must give back, and how
/// many of them go by for one line in the log: about one in two seconds.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const PAUSES_PER_LINE: u32 = 40;

/// The least time between two lines in the log about a store that fails.
pub(crate) const STORE_LINE_EVERY: Duration = Duration::from_secs(1);

/// The largest configuration file that is read, in bytes.
pub(crate) const MAX_CONFIG_FILE: u64 = 64 << 20;

/// The largest file with a secret in it that is read, in bytes.
pub(crate) const MAX_SECRET_FILE: u64 = 64 << 10;

/// The most faults of a configuration that are shown, and that are looked for.
pub(crate) const MAX_FAULTS_SHOWN: usize = 20;
pub(crate) const MAX_FAULTS_SOUGHT: usize = 1_000;

/// The most shards that may be asked for.
pub(crate) const MAX_SHARDS: u64 = 1 << 16;

/// The shortest and the longest time that a call to Redis may be given.
pub(crate) const TIMEOUT_MIN: Span = Span::from_millis(1);
pub(crate) const TIMEOUT_MAX: Span = Span::from_secs(60);

/// The longest prefix of keys in Redis, in bytes.
pub(crate) const MAX_PREFIX: usize = 64;

/// The longest line of a log that is replayed, in bytes; of longer ones only the number is known.
pub(crate) const MAX_LOG_LINE: usize = 1 << 20;

const _: () = assert!(MAX_SHARDS.is_power_of_two());
const _: () = assert!(TIMEOUT_MIN.as_nanos() < TIMEOUT_MAX.as_nanos());
const _: () = assert!(MAX_FAULTS_SHOWN < MAX_FAULTS_SOUGHT);
const _: () = assert!(MAX_SECRET_FILE < MAX_CONFIG_FILE);
// A line with the longest key in it, every byte escaped, can be read.
const _: () = assert!(MAX_LOG_LINE > 6 * tidegate::Key::MAX_LEN);

// When the service stops, a body or a head that does not come is refused before it is cut off.
const _: () = assert!(BODY_TIMEOUT.as_millis() + LINGER.as_millis() < GRACE.as_millis());
// A batch of full-length keys fits its body, even when JSON escapes every byte once.
const _: () = assert!(MAX_JSON_BODY >= MAX_CHECKS * 2 * tidegate::Key::MAX_LEN);
const _: () = assert!(MAX_GRPC_MESSAGE >= MAX_CHECKS * (tidegate::Key::MAX_LEN + 128));
// The longest key and policy fit a head.
const _: () = assert!(MAX_HEAD > 4 * tidegate::Key::MAX_LEN);
