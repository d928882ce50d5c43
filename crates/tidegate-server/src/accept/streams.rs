//! What is open on an HTTP/2 connection, and how long nothing is.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::service::Service;
use tokio::time::sleep;

use crate::constants::{HEAD_TIMEOUT, IDLE_TIMEOUT, LOOK_EVERY};

/// The streams of one connection. Each is answered in a task of its own.
#[derive(Debug, Default)]
pub(super) struct Streams {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Streams {
    // Relaxed throughout: the counts order nothing, and one read late is read at the next tick.
    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether a request is being answered.
    pub(super) fn are_open(&self) -> bool {
        self.begun() != self.ended.load(Ordering::Relaxed)
    }

    /// Waits until no first request came in the time for one, or no further one in a long time.
    pub(super) async fn lapsed(&self) {
        sleep(HEAD_TIMEOUT).await;
        let (mut begun, mut idle) = (self.begun(), 0);
        if begun == 0 {
            return;
        }
        while LOOK_EVERY * idle <= IDLE_TIMEOUT {
            sleep(LOOK_EVERY).await;
            let now = self.begun();
            idle = if self.are_open() || now != begun { 0 } else { idle + 1 };
            begun = now;
        }
    }
}

/// One open stream; it ends when this is dropped.
struct Open(Arc<Streams>);

impl Open {
    fn begin(streams: &Arc<Streams>) -> Open {
        streams.begun.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(streams))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// A service whose requests are counted for as long as their answers last.
pub(super) struct Counted<S> {
    service: S,
    streams: Arc<Streams>,
}

impl<S> Counted<S> {
    pub(super) fn new(service: S, streams: Arc<Streams>) -> Counted<S> {
        Counted { service, streams }
    }
}

impl<R, B, S> Service<R> for Counted<S>
where
    S: Service<R, Response = Response<B>, Future: Unpin>,
{
    type Response = Response<Lasting<B>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, request: R) -> Self::Future {
        let open = Open::begin(&self.streams);
        Answering { future: self.service.call(request), open: Some(open) }
    }
}

/// An answer to come.
pub(super) struct Answering<F> {
    future: F,
    open: Option<Open>,
}

impl<B, E, F> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>> + Unpin,
{
    type Output = Result<Response<Lasting<B>>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.future).poll(cx).map_ok(|answer| {
            let open = self.open.take();
            answer.map(|body| Lasting { body, _open: open })
        })
    }
}

/// A body whose stream is open until it is sent or given up.
pub(super) struct Lasting<B> {
    body: B,
    _open: Option<Open>,
}

impl<B: Body + Unpin> Body for Lasting<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, timeout};

    #[tokio::test(start_paused = true)]
    async fn a_first_request_is_waited_for_less_than_a_next_one() {
        let streams = Arc::new(Streams::default());
        let started = Instant::now();
        streams.lapsed().await;
        assert!(started.elapsed() <= HEAD_TIMEOUT + LOOK_EVERY, "{:?}", started.elapsed());
        drop(Open::begin(&streams));
        let started = Instant::now();
        streams.lapsed().await;
        let after = started.elapsed();
        assert!(
            after > IDLE_TIMEOUT && after <= IDLE_TIMEOUT + HEAD_TIMEOUT + 2 * LOOK_EVERY,
            "{after:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_stream_is_never_idle() {
        let streams = Arc::new(Streams::default());
        let _open = Open::begin(&streams);
        assert!(streams.are_open());
        assert!(timeout(10 * IDLE_TIMEOUT, streams.lapsed()).await.is_err());
    }
}
