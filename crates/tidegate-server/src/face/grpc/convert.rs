//! From messages to requests.

use tidegate::{Amount, Cost, Key, Mode};

use crate::constants::{DEFAULT_POLICY, MAX_CHECKS};
use crate::face::Mistake;
use crate::proto::v1 as wire;
use crate::service::{CheckRequest, Joint, Reason};

/// The request in a message; `place` is what its fields' names begin with.
pub(super) fn request<'a>(
    asked: &'a wire::AllowRequest,
    place: &str,
) -> Result<CheckRequest<'a>, Mistake> {
    let policy = match asked.policy.as_str() {
        "" => DEFAULT_POLICY,
        named => named,
    };
    let key = Key::new(&asked.key).map_err(|error| Mistake::key(format!("{place}key"), error))?;
    Ok(CheckRequest {
        key,
        policy,
        cost: cost(asked.tokens).map_err(|error| Mistake::cost(format!("{place}tokens"), error))?,
        mode: if asked.debit { Mode::Debit } else { Mode::Take },
    })
}

/// A zero is what a message without tokens holds, and means one.
fn cost(tokens: f64) -> Result<Cost, tidegate::AmountError> {
    // Nearly all ask for one, and no decimal need be found for it.
    if tokens == 0.0 || tokens == 1.0 {
        return Ok(Amount::ONE);
    }
    Amount::from_f64(tokens)
}

/// The requests in a batch.
pub(super) fn requests(asked: &wire::CheckRequest) -> Result<Vec<CheckRequest<'_>>, Mistake> {
    if asked.checks.is_empty() || asked.checks.len() > MAX_CHECKS {
        let detail = format!("holds {}; it must hold 1 to {MAX_CHECKS}", asked.checks.len());
        return Err(Mistake::new(Reason::Malformed, "checks", detail));
    }
    let numbered = asked.checks.iter().enumerate();
    numbered
        // The place is only written out when there is a mistake to tell.
        .map(|(at, check)| {
            request(check, "").or_else(|_| request(check, &format!("checks[{at}].")))
        })
        .collect()
}

/// How the checks of a batch hang together.
pub(super) fn joint(asked: &wire::CheckRequest) -> Result<Joint, Mistake> {
    match wire::Mode::try_from(asked.mode) {
        Ok(wire::Mode::All) => Ok(Joint::All),
        Ok(wire::Mode::Each) => Ok(Joint::Each),
        Err(_) => {
            let detail = format!("{} is none; use MODE_ALL or MODE_EACH", asked.mode);
            Err(Mistake::new(Reason::Malformed, "mode", detail))
        }
    }
}
