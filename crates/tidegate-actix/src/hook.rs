//! What happens once a request has been answered: giving back, or charging the true cost.

mod tab;

use std::fmt;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::dev::ServiceResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use tidegate::{Cost, Limiter, Store, Timestamp};
use tidegate_middleware::{Asked, Taken};

pub use tab::Tab;

/// What watches over an answer. Not to be implemented outside of this crate.
pub trait Hook<S>: Clone {
    /// What travels with the answer's body.
    type Guard: Guard;

    #[doc(hidden)]
    fn open(&self, limiter: &Arc<Limiter<S>>, asked: Asked<'_>, at: Timestamp) -> Self::Guard;
}

/// Travels with a request and its answer, and ends with the answer's body.
pub trait Guard: Default {
    /// Whether it wants to know anything.
    #[doc(hidden)]
    const WATCHES: bool;

    /// The service has answered.
    #[doc(hidden)]
    fn answered(&mut self, _: &ResponseHead<'_>) {}

    /// So many bytes of the body have gone out.
    #[doc(hidden)]
    fn sent(&mut self, _: usize) {}

    /// The body has gone out to its end.
    #[doc(hidden)]
    fn ended(&mut self) {}
}

/// Nothing happens, and nothing is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl<S: Store> Hook<S> for NoHooks {
    type Guard = ();

    #[inline]
    fn open(&self, _: &Arc<Limiter<S>>, _: Asked<'_>, _: Timestamp) {}
}

impl Guard for () {
    const WATCHES: bool = false;
}

/// Whether to give back, by what the service answered.
type RefundIf = Arc<dyn Fn(&ResponseHead<'_>) -> bool + Send + Sync>;

/// What a request turned out to cost.
type TrueCost = Arc<dyn Fn(&Served) -> Cost + Send + Sync>;

/// What is to happen once a request is answered (see
/// [`RateLimit::refund_if`](crate::RateLimit::refund_if) and
/// [`RateLimit::true_cost`](crate::RateLimit::true_cost)).
#[derive(Clone, Default)]
pub struct Hooks {
    pub(crate) refund_if: Option<RefundIf>,
    pub(crate) true_cost: Option<TrueCost>,
}

impl From<NoHooks> for Hooks {
    fn from(_: NoHooks) -> Hooks {
        Hooks::default()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("refund_if", &self.refund_if.is_some())
            .field("true_cost", &self.true_cost.is_some())
            .finish()
    }
}

impl<S: Store> Hook<S> for Hooks {
    type Guard = Tab<S>;

    fn open(&self, limiter: &Arc<Limiter<S>>, asked: Asked<'_>, at: Timestamp) -> Tab<S> {
        Tab::open(Taken::new(Arc::clone(limiter), asked.into_owned(), at), self.clone())
    }
}

/// An answer without its body, whatever the body's type.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    status: StatusCode,
    headers: &'a HeaderMap,
    request: &'a HttpRequest,
}

impl<'a> ResponseHead<'a> {
    /// The head of this answer.
    #[must_use]
    pub fn of<B>(response: &'a ServiceResponse<B>) -> ResponseHead<'a> {
        ResponseHead {
            status: response.status(),
            headers: response.headers(),
            request: response.request(),
        }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// The request that is answered, with what the service left in its extensions.
    #[must_use]
    pub fn request(&self) -> &'a HttpRequest {
        self.request
    }
}

/// How a request was served, once it is over.
#[derive(Clone, Debug, Default)]
pub struct Served {
    pub(crate) status: Option<StatusCode>,
    pub(crate) request: Option<HttpRequest>,
    pub(crate) bytes: u64,
    pub(crate) is_complete: bool,
}

impl Served {
    /// The status of the answer; none when there was no answer: the service failed, or the client went
    /// away before.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The request, where it was answered. Its extensions are the place for a cost that only the
    /// handler knows.
    #[must_use]
    pub fn request(&self) -> Option<&HttpRequest> {
        self.request.as_ref()
    }

    /// How many bytes of the answer's body went out.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the body went out to its end. It did not when the client went away, or the service
    /// broke it off.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}
