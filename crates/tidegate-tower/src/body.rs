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
        let this = self.project();
        let frame = match this.kind.project() {
            KindProjection::Inner { body } => body.poll_frame(context),
            KindProjection::Own { bytes } => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes.into()))))
            }
        };
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            this.guard.sent(data.remaining());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Inner { body } => body.is_end_stream(),
            Kind::Own { bytes } => bytes.is_none(),
        }
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
