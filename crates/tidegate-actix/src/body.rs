//! The body of an answer: the service's, or ours.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;
use pin_project_lite::pin_project;

use crate::hook::Guard;

pin_project! {
    /// The service's body, or that of a refusal.
    ///
    /// `G` is what a middleware has to do once the body has ended; mostly nothing.
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
        Own { #[pin] body: BoxBody },
    }
}

impl<B, G> Body<B, G> {
    pub(crate) fn inner(body: B, guard: G) -> Body<B, G> {
        Body { kind: Kind::Inner { body }, guard }
    }
}

impl<B, G: Default> Body<B, G> {
    pub(crate) fn own(body: BoxBody) -> Body<B, G> {
        Body { kind: Kind::Own { body }, guard: G::default() }
    }
}

impl<B: MessageBody, G: Guard> MessageBody for Body<B, G> {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        match &self.kind {
            Kind::Inner { body } => body.size(),
            Kind::Own { body } => body.size(),
        }
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Box<dyn Error>>>> {
        let this = self.project();
        let chunk = match this.kind.project() {
            KindProjection::Inner { body } => body.poll_next(context).map_err(Into::into),
            KindProjection::Own { body } => body.poll_next(context),
        };
        if G::WATCHES {
            match &chunk {
                Poll::Ready(Some(Ok(bytes))) => this.guard.sent(bytes.len()),
                Poll::Ready(None) => this.guard.ended(),
                Poll::Ready(Some(Err(_))) | Poll::Pending => {}
            }
        }
        chunk
    }

    /// A body that is watched stays a body, so that its end is seen.
    fn try_into_bytes(self) -> Result<Bytes, Self> {
        if G::WATCHES {
            return Err(self);
        }
        let Body { kind, guard } = self;
        let bytes = match kind {
            Kind::Inner { body } => body.try_into_bytes().map_err(|body| Kind::Inner { body }),
            Kind::Own { body } => body.try_into_bytes().map_err(|body| Kind::Own { body }),
        };
        bytes.map_err(|kind| Body { kind, guard })
    }
}
