//! HTTP answers, whole: what REST and the metrics port share.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// An answer, whole.
pub(crate) type Reply = Response<Full<Bytes>>;

/// Alive.
pub(super) fn health() -> Reply {
    text(StatusCode::OK, "ok\n")
}

/// Plain text, which ends in a newline.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    typed(status, "text/plain; charset=utf-8", text)
}

/// A body of this type.
pub(super) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// The refusal of a method where only `methods` are allowed.
pub(super) fn only(methods: &'static str) -> Reply {
    let mut reply = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    reply
}
