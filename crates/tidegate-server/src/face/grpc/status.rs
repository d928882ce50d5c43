//! What goes wrong, as gRPC says it: the one place where errors become status codes.

use tonic::{Code, Status};

use crate::constants::MAX_GRPC_MESSAGE;
use crate::face::{Mistake, Refused};
use crate::service::Reason;

/// A refusal as a status.
pub(super) fn of(refused: &Refused) -> Status {
    let words = refused.to_string();
    match refused {
        Refused::Mistake(mistake) if mistake.reason == Reason::Policy => Status::not_found(words),
        Refused::Mistake(_) => Status::invalid_argument(words),
        Refused::SlowBody => Status::deadline_exceeded(words),
        Refused::Store => Status::unavailable(words),
    }
}

/// The mistake in a message that could not be read, by the status that tonic gave it: it calls an
/// unreadable message an internal error, and one that is too large out of range. Nothing of ours
/// answers with either, so it is the client's mistake whenever one of them is on its way.
pub(super) fn unreadable(status: &Status) -> Option<Mistake> {
    match status.code() {
        Code::Internal => {
            let (place, what) = place(status.message());
            let detail = format!("the message cannot be read: {what}");
            Some(Mistake::new(Reason::Malformed, place, detail))
        }
        Code::OutOfRange => {
            let detail = format!("the message is larger than {MAX_GRPC_MESSAGE} bytes");
            Some(Mistake::new(Reason::TooLarge, "", detail))
        }
        _ => None,
    }
}

/// The field at fault and what is wrong with it, from prost's words: `failed to decode Protobuf
/// message: Inner.field: Outer.field: reason`.
fn place(message: &str) -> (String, &str) {
    let mut rest = message.strip_prefix("failed to decode Protobuf message: ").unwrap_or(message);
    let mut place = String::new();
    while let Some((name, reason)) = rest.split_once(": ")
        && let Some((_, field)) = name.split_once('.')
        && !name.contains(' ')
    {
        let dot = if place.is_empty() { "" } else { "." };
        place = format!("{field}{dot}{place}");
        rest = reason;
    }
    (place, rest)
}
