//! The bounds on everything that comes from outside.

use std::time::Duration;

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

/// The longest head of an HTTP request, in bytes, and the most header lines in it.
pub(crate) const MAX_HEAD: usize = 16 * 1024;
pub(crate) const MAX_HEADERS: usize = 100;

/// The time a client has for the head of a request.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

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
pub(crate) const MAX_DRAIN: tidegate::Span = tidegate::Span::from_secs(3_600);

/// The time that requests in flight have to finish when the service stops. The process ends within
/// ten seconds; what is left of them is for cutting off the rest.
pub(crate) const GRACE: Duration = Duration::from_millis(9_500);

/// When the service stops, a kept connection on which nothing came for this long is closed: a request
/// that was on its way is answered.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// The time that an HTTP/2 client without requests has to say that it heard of the end.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// The time that a client has to read its last answer before its connection is closed.
pub(crate) const LINGER: Duration = Duration::from_millis(500);

/// How often the store is asked whether it is there.
pub(crate) const PROBE_EVERY: Duration = Duration::from_secs(1);

/// The pause after an accept that failed for want of something that others must give back.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

// When the service stops, a body or a head that does not come is refused before it is cut off.
const _: () = assert!(BODY_TIMEOUT.as_millis() + LINGER.as_millis() < GRACE.as_millis());
// A batch of full-length keys fits its body, even when JSON escapes every byte once.
const _: () = assert!(MAX_JSON_BODY >= MAX_CHECKS * 2 * tidegate::Key::MAX_LEN);
const _: () = assert!(MAX_GRPC_MESSAGE >= MAX_CHECKS * (tidegate::Key::MAX_LEN + 128));
// The longest key and policy fit a head.
const _: () = assert!(MAX_HEAD > 4 * tidegate::Key::MAX_LEN);
