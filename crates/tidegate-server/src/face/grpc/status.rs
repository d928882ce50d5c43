//! What goes wrong, as gRPC says it: the one place where errors become status codes.

use tonic::{Code, Status};

use crate::constants::MAX_GRPC_MESSAGE;
use crate::face::Mistake;
use crate::service::{Reason, Refusal};

/// Why a request gets no decision.
#[derive(Debug)]
pub(super) enum Refused {
    /// The client's mistake.
    Mistake(Mistake),
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
            Refused::Store => None,
        }
    }

    pub(super) fn status(&self) -> Status {
        match self {
            Refused::Mistake(mistake) if mistake.reason == Reason::Policy => {
                Status::not_found(mistake.to_string())
            }
            Refused::Mistake(mistake) => Status::invalid_argument(mistake.to_string()),
            Refused::Store => Status::unavailable("rate limiter error"),
        }
    }
}

impl From<Mistake> for Refused {
    fn from(mistake: Mistake) -> Refused {
        Refused::Mistake(mistake)
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
