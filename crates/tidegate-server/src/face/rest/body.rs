//! Reading bodies, within bounds of size and time.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use smallvec::SmallVec;
use tokio::time::timeout;

use crate::constants::{BODY_TIMEOUT, MAX_IGNORED_BODY, MAX_JSON_BODY};
use crate::face::{Mistake, Refused};
use crate::service::Reason;

/// Reads a body that nobody wants, so that the connection can carry the next request.
pub(super) async fn drain(body: &mut Incoming) -> Result<(), Refused> {
    if body.is_end_stream() {
        return Ok(());
    }
    read(body, MAX_IGNORED_BODY, drop).await
}

/// Reads a JSON body whole.
pub(super) async fn collect(body: &mut Incoming) -> Result<Bytes, Refused> {
    let mut pieces: SmallVec<[Bytes; 1]> = SmallVec::new();
    read(body, MAX_JSON_BODY, |piece| pieces.push(piece)).await?;
    Ok(match pieces.len() {
        // Most bodies come in one piece, which need not be copied.
        0 | 1 => pieces.pop().unwrap_or_default(),
        _ => pieces.concat().into(),
    })
}

async fn read(body: &mut Incoming, max: usize, mut take: impl FnMut(Bytes)) -> Result<(), Refused> {
    // What is announced as too large need not be read to know it.
    if body.size_hint().lower() > max as u64 {
        return Err(too_large(max));
    }
    let mut left = max;
    let reading = async {
        while let Some(frame) = body.frame().await {
            // What is no data are trailers, which say nothing here.
            let Ok(piece) = frame.map_err(|_| broken())?.into_data() else {
                continue;
            };
            left = left.checked_sub(piece.len()).ok_or_else(|| too_large(max))?;
            take(piece);
        }
        Ok(())
    };
    timeout(BODY_TIMEOUT, reading).await.unwrap_or(Err(Refused::SlowBody))
}

fn broken() -> Refused {
    let detail = "the body broke off or is not encoded as it says";
    Mistake::new(Reason::Malformed, "", detail).into()
}

fn too_large(max: usize) -> Refused {
    let detail = format!("the body is larger than {max} bytes");
    Mistake::new(Reason::TooLarge, "", detail).into()
}
