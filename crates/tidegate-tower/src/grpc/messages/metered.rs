//! A body whose messages are counted as they arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use pin_project_lite::pin_project;
use tidegate::{Limiter, Store, StoreError, Verdict};
use tidegate_middleware::{Asked, OnStoreError, Refused, at_once};
use tonic::Status;
use tonic::body::Body;

use crate::grpc::status;

/// How many bytes stand before each message: whether it is compressed, and its length.
const PREFIX: u8 = 5;

pin_project! {
    /// A body of gRPC messages, which ends with an error at the first one too many.
    pub(super) struct Metered<S: Store> {
        #[pin]
        body: Body,
        meter: Meter<S>,
        // What has arrived and not yet been handed on.
        rest: Bytes,
        place: Place,
        #[pin]
        take: Option<S::Take>,
        is_over: bool,
    }
}

/// Whom the messages are counted for.
struct Meter<S> {
    limiter: Arc<Limiter<S>>,
    asked: Asked<'static>,
    stance: OnStoreError,
}

/// Where in a message the next byte stands.
#[derive(Clone, Copy)]
enum Place {
    /// Before it; it has yet to be allowed.
    Before,
    /// In its prefix, after so many bytes, with the length read so far.
    Prefix { seen: u8, len: u32 },
    /// In what follows, with so many bytes to go.
    Payload { left: u32 },
}

impl Place {
    /// Goes on to the end of the message, or of the bytes, and says how many of them that were.
    fn advance(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        while let Place::Prefix { seen, len } = *self {
            let Some(byte) = bytes.get(used) else { return used };
            used += 1;
            let len = if seen == 0 { len } else { len << 8 | u32::from(*byte) };
            *self = match seen + 1 {
                PREFIX => Place::Payload { left: len },
                seen => Place::Prefix { seen, len },
            };
        }
        if let Place::Payload { left } = *self {
            let here = u32::try_from(bytes.len() - used).unwrap_or(u32::MAX).min(left);
            used += here as usize;
            *self = match left - here {
                0 => Place::Before,
                left => Place::Payload { left },
            };
        }
        used
    }
}

impl<S: Store> Metered<S> {
    pub(super) fn new(
        body: Body,
        limiter: Arc<Limiter<S>>,
        asked: Asked<'static>,
        stance: OnStoreError,
    ) -> Metered<S> {
        Metered {
            body,
            meter: Meter { limiter, asked, stance },
            rest: Bytes::new(),
            place: Place::Before,
            take: None,
            is_over: false,
        }
    }
}

impl<S: Store> Meter<S> {
    /// Asks for one message.
    fn take(&mut self) -> Result<S::Take, Status> {
        let take = self.asked.take(&self.limiter);
        take.map_err(|error| status(&Refused::BadRequest(&error.to_string())))
    }

    /// What the store's answer means.
    fn judge(&self, verdict: Result<Verdict, StoreError>) -> Result<(), Status> {
        let verdict = match self.asked.heard(&self.limiter, self.stance, verdict) {
            Ok(verdict) => verdict,
            Err(_) if self.stance == OnStoreError::Allow => return Ok(()),
            Err(error) => return Err(status(&Refused::StoreFailed(&error))),
        };
        if verdict.is_allowed() {
            return Ok(());
        }
        let governing = verdict.governing();
        match (self.asked.item(governing), verdict.decisions().get(governing)) {
            (Some(item), Some(decision)) => {
                Err(status(&Refused::Limited { policy: item.policy(), decision }))
            }
            // Nothing was asked: an answer that lacks a decision is a failure of the store already.
            _ => Ok(()),
        }
    }
}

impl<S: Store> http_body::Body for Metered<S> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut this = self.project();
        if *this.is_over {
            return Poll::Ready(None);
        }
        loop {
            if let Some(take) = this.take.as_mut().as_pin_mut() {
                let verdict = ready!(take.poll(context));
                this.take.set(None);
                if let Err(status) = this.meter.judge(verdict) {
                    *this.is_over = true;
                    return Poll::Ready(Some(Err(status)));
                }
                *this.place = Place::Prefix { seen: 0, len: 0 };
            }
            if this.rest.is_empty() {
                match ready!(this.body.as_mut().poll_frame(context)).transpose()? {
                    Some(frame) => match frame.into_data() {
                        Ok(data) => *this.rest = data,
                        Err(frame) => return Poll::Ready(Some(Ok(frame))),
                    },
                    None => return Poll::Ready(None),
                }
            } else if matches!(this.place, Place::Before) {
                match this.meter.take().map(at_once) {
                    Ok(Ok(verdict)) => match this.meter.judge(verdict) {
                        Ok(()) => *this.place = Place::Prefix { seen: 0, len: 0 },
                        Err(status) => return Poll::Ready(Some(Err(over(this.is_over, status)))),
                    },
                    Ok(Err(take)) => this.take.set(Some(take)),
                    Err(status) => return Poll::Ready(Some(Err(over(this.is_over, status)))),
                }
            } else {
                let used = this.place.advance(this.rest);
                return Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(used)))));
            }
        }
    }
}

/// Remembers that nothing follows this status.
fn over(is_over: &mut bool, status: Status) -> Status {
    *is_over = true;
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes of messages are cut into frames, each message is begun once.
    #[test]
    fn messages_are_found_in_frames_of_any_size() {
        let messages: [&[u8]; 4] = [b"", b"a", b"some more", &[7; 300]];
        let mut stream = Vec::new();
        for message in messages {
            stream.push(0);
            stream.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
            stream.extend(message);
        }
        for size in 1..=stream.len() {
            let (mut place, mut begun) = (Place::Before, 0);
            for frame in stream.chunks(size) {
                let mut rest = frame;
                while !rest.is_empty() {
                    if matches!(place, Place::Before) {
                        begun += 1;
                        place = Place::Prefix { seen: 0, len: 0 };
                    }
                    rest = &rest[place.advance(rest)..];
                }
            }
            assert_eq!(begun, messages.len(), "frames of {size}");
            assert!(matches!(place, Place::Before), "frames of {size}");
        }
    }
}
