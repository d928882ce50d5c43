//! Answers in gRPC.

mod details;
mod messages;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use tidegate::{Decision, Outcome};
use tidegate_middleware::Refused;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

pub use messages::{MessageFuture, MessageLimit, MessageLimitLayer};

use crate::head::RequestHead;

/// Whether the request is a gRPC call.
pub(crate) fn is_call(request: &RequestHead<'_>) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let rest = kind.and_then(|kind| kind.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Answers a call that does not get through, with nothing but trailers.
pub(crate) fn refuse(refused: &Refused<'_>) -> Response<Bytes> {
    status(refused).into_http()
}

/// The status: its code, the text that every face tells, and what a client can act upon.
pub(crate) fn status(refused: &Refused<'_>) -> Status {
    let message = refused.to_string();
    let Refused::Limited { policy, decision } = refused else {
        let code = match refused {
            Refused::StoreFailed(_) => Code::Unavailable,
            _ => Code::InvalidArgument,
        };
        return Status::new(code, message);
    };
    let details = details::of(policy, decision, &message);
    let metadata = retry_after(decision);
    Status::with_details_and_metadata(Code::ResourceExhausted, message, details, metadata)
}

/// When to come back, in whole seconds.
fn retry_after(decision: &Decision) -> MetadataMap {
    let mut metadata = MetadataMap::new();
    if decision.outcome == Outcome::Deny
        && let Some(wait) = decision.retry_after_secs()
    {
        metadata.insert("retry-after", MetadataValue::from(wait));
    }
    metadata
}
