//! What an answer asks of the client that got it.

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use tidegate::Span;

use super::date::seconds_of;

/// Finds out for how long an answer asks its client to stay away.
///
/// A function of the response is one.
pub trait Advice<R> {
    /// For how long no other call is to be made, if the answer says so.
    fn stay_away(&self, answer: &R) -> Option<Span>;
}

impl<F, R> Advice<R> for F
where
    F: Fn(&R) -> Option<Span>,
{
    fn stay_away(&self, answer: &R) -> Option<Span> {
        self(answer)
    }
}

/// Answers are handed on unread.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAdvice;

impl<R> Advice<R> for NoAdvice {
    fn stay_away(&self, _: &R) -> Option<Span> {
        None
    }
}

/// Obeys `Retry-After` as [`retry_after`] reads it, up to a longest pause: an hour, if it is not said
/// otherwise.
///
/// # Examples
///
/// ```
/// use tidegate::Span;
/// use tidegate_tower::{Advice, RetryAfter};
///
/// let answer = http::Response::builder().status(429).header("retry-after", "7").body(())?;
/// assert_eq!(RetryAfter::default().stay_away(&answer), Some(Span::from_secs(7)));
/// let patient_for = RetryAfter::at_most(Span::from_secs(5));
/// assert_eq!(patient_for.stay_away(&answer), Some(Span::from_secs(5)));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RetryAfter {
    longest: Span,
}

impl RetryAfter {
    /// Obeys, but pauses no longer than this.
    #[must_use]
    pub const fn at_most(longest: Span) -> RetryAfter {
        RetryAfter { longest }
    }
}

impl Default for RetryAfter {
    fn default() -> RetryAfter {
        RetryAfter::at_most(Span::from_secs(3_600))
    }
}

impl<B> Advice<Response<B>> for RetryAfter {
    fn stay_away(&self, answer: &Response<B>) -> Option<Span> {
        retry_after(answer.status(), answer.headers()).map(|asked| asked.min(self.longest))
    }
}

/// The gRPC codes of those who cannot serve now: RESOURCE_EXHAUSTED and UNAVAILABLE.
const GRPC_BUSY: [&str; 2] = ["8", "14"];

/// How long an answer of this status and these headers asks to stay away: the `Retry-After` of a 429, a
/// 503, or a gRPC answer that says the same, in seconds or as a date (seen from the answer's own
/// `Date`).
///
/// # Examples
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use tidegate::Span;
/// use tidegate_tower::retry_after;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("date", HeaderValue::from_static("Tue, 01 Dec 2026 12:00:00 GMT"));
/// headers.insert("retry-after", HeaderValue::from_static("Tue, 01 Dec 2026 12:01:30 GMT"));
/// let wait = retry_after(StatusCode::SERVICE_UNAVAILABLE, &headers);
/// assert_eq!(wait, Some(Span::from_secs(90)));
/// assert_eq!(retry_after(StatusCode::OK, &headers), None);
/// ```
#[must_use]
pub fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<Span> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let is_busy = match text("grpc-status") {
        Some(code) => GRPC_BUSY.contains(&code),
        None => matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE),
    };
    let asked = text(RETRY_AFTER.as_str()).filter(|_| is_busy)?;
    if let Ok(seconds) = asked.parse() {
        return Some(Span::from_secs(seconds));
    }
    let (until, from) = (seconds_of(asked)?, seconds_of(text(DATE.as_str())?)?);
    Some(Span::from_secs(until.saturating_sub(from)))
}
