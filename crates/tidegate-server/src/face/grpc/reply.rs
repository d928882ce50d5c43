//! The bodies of answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tonic::Status;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// An answer.
pub(crate) type Reply = Response<ReplyBody>;

/// The body of an answer.
pub(crate) enum ReplyBody {
    /// One message, in its frame; then the word that all went well.
    Message(Bytes),
    /// That word.
    Well,
    /// Nothing more.
    Over,
    /// Whatever tonic answers.
    Tonic(tonic::body::Body),
}

/// The answer of one message, in its frame.
pub(super) fn message(frame: Bytes) -> Reply {
    let mut reply = Response::new(ReplyBody::Message(frame));
    *reply.status_mut() = StatusCode::OK;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    reply
}

/// An answer without a message.
pub(super) fn status(status: Status) -> Reply {
    status.into_http().map(ReplyBody::Tonic)
}

/// `grpc-status: 0`.
fn well() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
    trailers
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let (frame, rest) = match &mut *self {
            ReplyBody::Tonic(body) => return Pin::new(body).poll_frame(cx),
            ReplyBody::Message(message) => (Frame::data(std::mem::take(message)), ReplyBody::Well),
            ReplyBody::Well => (Frame::trailers(well()), ReplyBody::Over),
            ReplyBody::Over => return Poll::Ready(None),
        };
        *self = rest;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Tonic(body) => body.is_end_stream(),
            ReplyBody::Message(_) | ReplyBody::Well => false,
            ReplyBody::Over => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Tonic(body) => body.size_hint(),
            // Its length is not announced: what ends it are its trailers.
            _ => SizeHint::default(),
        }
    }
}
