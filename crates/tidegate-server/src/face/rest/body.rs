//! Reading bodies, within bounds of size and time.

use bytes::Bytes;
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use crate::constants::{BODY_TIMEOUT, MAX_IGNORED_BODY, MAX_JSON_BODY};
use crate::face::{Mistake, Refused};
use crate::service::Reason;

/// Reads a body that nobody wants, so that the connection can carry the next request.
pub(super) async fn drain(body: Incoming) -> Result<(), Refused> {
    if body.is_end_stream() {
        return Ok(());
    }
    read(body, MAX_IGNORED_BODY).await.map(drop)
}

/// Reads a JSON body whole.
pub(super) async fn collect(body: Incoming) -> Result<Bytes, Refused> {
    Ok(read(body, MAX_JSON_BODY).await?.to_bytes())
}

async fn read(body: Incoming, max: usize) -> Result<Collected<Bytes>, Refused> {
    // What is announced as too large need not be read to know it.
    if body.size_hint().lower() > max as u64 {
        return Err(too_large(max));
    }
    match timeout(BODY_TIMEOUT, Limited::new(body, max).collect()).await {
        Err(_) => Err(Refused::SlowBody),
        Ok(Ok(collected)) => Ok(collected),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(max)),
        Ok(Err(_)) => {
            let detail = "the body broke off or is not encoded as it says";
            Err(Mistake::new(Reason::Malformed, "", detail).into())
        }
    }
}

fn too_large(max: usize) -> Refused {
    let detail = format!("the body is larger than {max} bytes");
    Mistake::new(Reason::TooLarge, "", detail).into()
}
