//! What goes wrong, as gRPC says it: the one place where errors become status codes.

use tonic::Status;

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
