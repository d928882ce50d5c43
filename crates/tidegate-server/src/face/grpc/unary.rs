//! Calls of one message that came as nearly all do: whole, in one piece, readable.
//!
//! They are read and answered here, without what a general server does around a call. Whatever is
//! unusual about a call is left to tonic, with what was read put back before the rest.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use prost::Message;

use crate::constants::MAX_GRPC_MESSAGE;

/// Before each message: whether it is compressed, in a byte, and its length, in four.
const HEAD: usize = 5;

/// Reads the message of a call; or says that the call is unusual.
pub(super) async fn read<M: Message + Default>(
    request: &mut Request<Incoming>,
) -> Result<M, Unusual> {
    if request.headers().contains_key("grpc-encoding") {
        return Err(Unusual(None));
    }
    let body = request.body_mut();
    let opening = match body.frame().await {
        Some(Ok(frame)) => frame,
        other => return Err(Unusual(other)),
    };
    let message = opening.data_ref().filter(|_| body.is_end_stream()).and_then(message);
    message.and_then(|message| M::decode(message).ok()).ok_or(Unusual(Some(Ok(opening))))
}

/// What was read of a call that is unusual.
pub(super) struct Unusual(Option<Opening>);

type Opening = Result<Frame<Bytes>, hyper::Error>;

impl Unusual {
    /// The call with what was read put back.
    pub(super) fn put_back(self, request: Request<Incoming>) -> Request<Opened> {
        request.map(|rest| Opened { opening: self.0, rest })
    }
}

/// The one message in a frame, if that is what it holds.
fn message(frame: &Bytes) -> Option<Bytes> {
    let mut rest = frame.clone();
    let is_plain = rest.try_get_u8().ok()? == 0;
    let length = rest.try_get_u32().ok()? as usize;
    (is_plain && length == rest.len() && length <= MAX_GRPC_MESSAGE).then_some(rest)
}

/// A message in the making, with room for its head.
pub(super) fn frame(room: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(room);
    frame.extend([0; HEAD]);
    frame
}

/// Writes the head of the message that a frame holds.
pub(super) fn close(mut frame: Vec<u8>) -> Bytes {
    // No answer is near 4 GB.
    let length = u32::try_from(frame.len() - HEAD).unwrap_or(u32::MAX);
    frame[1..HEAD].copy_from_slice(&length.to_be_bytes());
    frame.into()
}

/// A body of which the first frame was read already, and is read again.
pub(super) struct Opened {
    opening: Option<Opening>,
    rest: Incoming,
}

impl Body for Opened {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.opening.take() {
            Some(opening) => Poll::Ready(Some(opening)),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.opening.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.opening {
            None => self.rest.size_hint(),
            Some(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_plain_message_is_taken_for_one() {
        let taken = |bytes: &'static [u8]| message(&Bytes::from_static(bytes));
        assert_eq!(taken(b"\0\0\0\0\x02ab").as_deref(), Some(&b"ab"[..]));
        assert_eq!(taken(b"\0\0\0\0\0").as_deref(), Some(&b""[..]));
        for odd in [
            &b""[..],
            b"\0\0\0\0",
            b"\x01\0\0\0\x02ab",
            b"\0\0\0\0\x02a",
            b"\0\0\0\0\x02abc",
            b"\0\xff\xff\xff\xff",
        ] {
            assert_eq!(taken(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_frame_says_how_long_its_message_is() {
        let mut written = frame(8);
        written.extend_from_slice(b"abc");
        assert_eq!(&close(written)[..], b"\0\0\0\0\x03abc");
    }
}
