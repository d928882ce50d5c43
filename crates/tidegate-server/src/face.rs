//! The faces: one for each protocol. They turn bytes into requests and answers into bytes.

pub(crate) mod grpc;
mod http;
pub(crate) mod rest;
pub(crate) mod scrape;

use std::fmt;

use tidegate::{AmountError, KeyError};

use crate::service::{Reason, Refusal};

/// A client's mistake: what was wrong, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) reason: Reason,
    /// The header or field at fault, such as `checks[3].cost`; empty when it is the whole.
    pub(crate) place: String,
    /// What is wrong with it.
    pub(crate) detail: String,
}

impl Mistake {
    pub(crate) fn new(
        reason: Reason,
        place: impl Into<String>,
        detail: impl Into<String>,
    ) -> Mistake {
        Mistake { reason, place: place.into(), detail: detail.into() }
    }

    pub(crate) fn key(place: impl Into<String>, error: KeyError) -> Mistake {
        Mistake::new(Reason::Key, place, error.to_string())
    }

    pub(crate) fn cost(place: impl Into<String>, error: AmountError) -> Mistake {
        Mistake::new(Reason::Cost, place, error.to_string())
    }

    pub(crate) fn policy(place: impl Into<String>, name: &str) -> Mistake {
        // A name is at most 64 long; what is longer need not be repeated in full.
        let shown: String = name.chars().take(64).collect();
        Mistake::new(Reason::Policy, place, format!("no policy is named {shown:?}"))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.detail)
    }
}

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
    /// The refusal of requests; `field` names the one that gave the policy, by the request's place.
    pub(crate) fn of(refusal: &Refusal, field: impl FnOnce(usize) -> String) -> Refused {
        match refusal {
            Refusal::Store(_) => Refused::Store,
            Refusal::UnknownPolicy { place, name } => Mistake::policy(field(*place), name).into(),
        }
    }

    /// Which mistake it was, if it was one.
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self {
            Refused::Mistake(mistake) => Some(mistake.reason),
            Refused::SlowBody | Refused::Store => None,
        }
    }
}

impl From<Mistake> for Refused {
    fn from(mistake: Mistake) -> Refused {
        Refused::Mistake(mistake)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Mistake(mistake) => mistake.fmt(f),
            Refused::SlowBody => f.write_str("the body did not come in time"),
            Refused::Store => f.write_str("rate limiter error"),
        }
    }
}
