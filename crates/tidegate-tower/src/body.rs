//! The body of an answer: the service's, or ours.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::hook::Guard;

pin_project! {
    /// The service's body, or the short one of a refusal.
    ///
    /// `G` is what a layer has to do once the body has ended; mostly nothing.
    #[derive(Debug)]
    pub struct Body<B, G = ()> {
        #[pin]
        kind: Kind<B>,
        guard: G,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Inner { #[pin] body: B },
        Own { bytes: Option<Bytes> },
    }
}

impl<B, G> Body<B, G> {
    pub(crate) fn inner(body: B, guard: G) -> Body<B, G> {
        Body { kind: Kind::Inner { body }, guard }
    }
}

/// No bytes.
impl<B, G: Default> Default for Body<B, G> {
    fn default() -> Body<B, G> {
        Body::own(Bytes::new())
    }
}

impl<B, G: Default> Body<B, G> {
    pub(crate) fn own(bytes: Bytes) -> Body<B, G> {
        let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
        Body { kind: Kind::Own { bytes }, guard: G::default() }
    }
}

impl<B, G> http_body::Body for Body<B, G>
where
    B: http_body::Body<Data: From<Bytes>>,
    G: Guard,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = match this.kind.as_mut().project() {
            KindProjection::Inner { body } => body.poll_frame(context),
            KindProjection::Own { bytes } => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes.into()))))
            }
        };
        if G::WATCHES {
            watch(this.guard, &frame, this.kind.is_end_stream());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        let is_end = self.kind.is_end_stream();
        // Whoever is told so asks for no more frames.
        if G::WATCHES && is_end {
            self.guard.ended();
        }
        is_end
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Inner { body } => body.size_hint(),
            Kind::Own { bytes } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}

impl<B: http_body::Body> Kind<B> {
    fn is_end_stream(&self) -> bool {
        match self {
            Kind::Inner { body } => body.is_end_stream(),
            Kind::Own { bytes } => bytes.is_none(),
        }
    }
}

/// Tells the guard what a frame means: bytes, and perhaps the end. Whoever sends a body need not ask
/// for more once it says that it has ended.
fn watch<D: Buf, E, G: Guard>(
    guard: &mut G,
    frame: &Poll<Option<Result<Frame<D>, E>>>,
    is_end: bool,
) {
    if let Poll::Ready(Some(Ok(frame))) = frame
        && let Some(data) = frame.data_ref()
    {
        guard.sent(data.remaining());
    }
    let has_ended = match frame {
        Poll::Ready(None) => true,
        Poll::Ready(Some(Ok(frame))) => is_end || frame.is_trailers(),
        Poll::Ready(Some(Err(_))) | Poll::Pending => false,
    };
    if has_ended {
        guard.ended();
    }
}
