//! What goes wrong, as HTTP says it: the one place where errors become status codes.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::Reply;
use crate::face::Mistake;
use crate::service::{Reason, Refusal};

/// Why a request gets no decision.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The client's mistake.
    Mistake(Mistake),
    /// The body did not come in time.
    SlowBody,
    /// The store failed, and the stance is to deny.
    Store,
}

impl Refused {
    /// The refusal of a request; `policy` finds the place and the name of an unknown policy.
    pub(super) fn from_service(
        refusal: &Refusal,
        policy: impl FnOnce(usize) -> (String, String),
    ) -> Refused {
        match refusal {
            Refusal::Store(_) => Refused::Store,
            Refusal::UnknownPolicy { place } => {
                let (field, name) = policy(*place);
                Refused::Mistake(Mistake::policy(field, &name))
            }
        }
    }

    /// Which mistake it was, if it was one.
    pub(super) fn reason(&self) -> Option<Reason> {
        match self {
            Refused::Mistake(mistake) => Some(mistake.reason),
            Refused::SlowBody | Refused::Store => None,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Refused::Mistake(mistake) if mistake.reason == Reason::TooLarge => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Refused::Mistake(_) => StatusCode::BAD_REQUEST,
            Refused::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Refused::Store => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn detail(&self) -> String {
        match self {
            Refused::Mistake(mistake) => mistake.to_string(),
            Refused::SlowBody => "the body did not come in time".into(),
            Refused::Store => "rate limiter error".into(),
        }
    }
}

impl From<Mistake> for Refused {
    fn from(mistake: Mistake) -> Refused {
        Refused::Mistake(mistake)
    }
}

/// A refusal as plain text.
pub(super) fn plain(refused: &Refused) -> Reply {
    text(refused.status(), refused.detail() + "\n")
}

/// A refusal as problem details (RFC 9457); `field` names the field at fault.
pub(super) fn problem(refused: &Refused) -> Reply {
    let status = refused.status();
    let mut problem = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": refused.detail(),
    });
    if let Refused::Mistake(mistake) = refused
        && !mistake.place.is_empty()
    {
        problem["field"] = mistake.place.as_str().into();
    }
    typed(status, "application/problem+json", problem.to_string() + "\n")
}

/// Plain text, which ends in a newline.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    typed(status, "text/plain; charset=utf-8", text)
}

/// A body of this type.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// The refusal of a method where only `methods` are allowed.
pub(crate) fn only(methods: &'static str) -> Reply {
    let mut reply = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    reply
}
