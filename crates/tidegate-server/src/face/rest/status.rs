//! What goes wrong, as HTTP says it: the one place where errors become status codes.

use hyper::StatusCode;

use crate::face::Refused;
use crate::face::http::{Reply, text, typed};
use crate::service::Reason;

fn status(refused: &Refused) -> StatusCode {
    match refused {
        Refused::Mistake(mistake) if mistake.reason == Reason::TooLarge => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        Refused::Mistake(_) => StatusCode::BAD_REQUEST,
        Refused::SlowBody => StatusCode::REQUEST_TIMEOUT,
        Refused::Store => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// A refusal as plain text.
pub(super) fn plain(refused: &Refused) -> Reply {
    text(status(refused), format!("{refused}\n"))
}

/// A refusal as problem details (RFC 9457); `field` names the field at fault.
pub(super) fn problem(refused: &Refused) -> Reply {
    let status = status(refused);
    let mut problem = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": refused.to_string(),
    });
    if let Refused::Mistake(mistake) = refused
        && !mistake.place.is_empty()
    {
        problem["field"] = mistake.place.as_str().into();
    }
    typed(status, "application/problem+json", problem.to_string() + "\n")
}
