//! Reflection: tonic's own, whose streams end when the service stops.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::shutdown::Shutdown;

/// The body of a request, cut short by the word to stop: to reflection its questions are over, and
/// its stream ends as any does.
pub(super) struct Questions {
    body: Incoming,
    stopped: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    is_over: bool,
}

impl Questions {
    pub(super) fn new(body: Incoming, mut shutdown: Shutdown) -> Questions {
        let stopped = Box::pin(async move { shutdown.wait().await });
        Questions { body, stopped, is_over: false }
    }
}

impl Body for Questions {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        // What was asked before the word is still answered.
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() || self.stopped.as_mut().poll(cx).is_pending() {
            return frame;
        }
        self.is_over = true;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
