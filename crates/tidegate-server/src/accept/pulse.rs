//! Who keeps an HTTP/1 connection waiting, and for how long.
//!
//! hyper's own timer for heads starts when the last answer is sent: it would close a connection
//! that is only idle, under a client that is about to use it again, and it would set a timer with
//! every request. Here requests only leave marks, and one look a second reads them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Response;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::constants::{HEAD_TIMEOUT, IDLE_TIMEOUT, LOOK_EVERY};

/// The marks of one connection. Its one task writes them, so plain stores do.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// How long the client was waited for before the first look.
    waited: Duration,
    /// Reads that brought bytes.
    reads: AtomicU64,
    /// What `reads` was when the last answer was given: bytes since then belong to a next head.
    settled: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Whether the next answer is the connection's last.
    closing: AtomicBool,
}

/// Why a connection is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lapse {
    /// The rest of a head did not come.
    Head,
    /// No request came.
    Idle,
}

impl Pulse {
    /// The pulse of a connection whose first head was waited for so long already.
    pub(super) fn new(waited: Duration) -> Pulse {
        Pulse { waited, ..Pulse::default() }
    }

    // Relaxed throughout: one task writes and reads all marks.
    fn read(&self) {
        bump(&self.reads);
    }

    /// Makes the next answer the last.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    fn begin(&self) {
        bump(&self.begun);
    }

    fn end(&self) {
        bump(&self.ended);
        self.settled.store(self.reads.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Waits until the client has kept the connection waiting for too long.
    pub(super) async fn lapsed(&self) -> Lapse {
        let (mut begun, mut idle) = (0, Duration::ZERO);
        let mut partial = self.waited;
        loop {
            sleep(LOOK_EVERY).await;
            let now = self.begun.load(Ordering::Relaxed);
            let in_flight = now != self.ended.load(Ordering::Relaxed);
            if in_flight || now != begun {
                (begun, idle, partial) = (now, Duration::ZERO, Duration::ZERO);
            }
            if in_flight {
                continue;
            }
            let has_part =
                self.reads.load(Ordering::Relaxed) != self.settled.load(Ordering::Relaxed);
            idle += LOOK_EVERY;
            partial = if has_part { partial + LOOK_EVERY } else { Duration::ZERO };
            // What is first seen at a look may have waited no time yet: hence above, not at.
            if partial > HEAD_TIMEOUT {
                return Lapse::Head;
            }
            if idle > IDLE_TIMEOUT {
                return Lapse::Idle;
            }
        }
    }
}

fn bump(mark: &AtomicU64) {
    mark.store(mark.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// A stream whose reads leave marks.
pub(super) struct Watched {
    stream: TokioIo<TcpStream>,
    pulse: Arc<Pulse>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, pulse: Arc<Pulse>) -> Watched {
        Watched { stream: TokioIo::new(stream), pulse }
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream.into_inner()
    }
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() {
            self.pulse.read();
        }
        read
    }
}

impl Write for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }
}

/// A service whose requests leave marks.
pub(super) struct Attended<S> {
    service: S,
    pulse: Arc<Pulse>,
}

impl<S> Attended<S> {
    pub(super) fn new(service: S, pulse: Arc<Pulse>) -> Attended<S> {
        Attended { service, pulse }
    }
}

impl<R, B, S> Service<R> for Attended<S>
where
    S: Service<R, Response = Response<B>, Future: Unpin>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, request: R) -> Self::Future {
        self.pulse.begin();
        Answering { future: self.service.call(request), pulse: Arc::clone(&self.pulse) }
    }
}

/// An answer to come, which leaves a mark when it does.
pub(super) struct Answering<F> {
    future: F,
    pulse: Arc<Pulse>,
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut answer = Pin::new(&mut self.future).poll(cx);
        if let Poll::Ready(answer) = &mut answer {
            self.pulse.end();
            if let Ok(answer) = answer
                && self.pulse.closing.load(Ordering::Relaxed)
            {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, timeout};

    async fn lapse_after(pulse: &Pulse) -> (Lapse, Duration) {
        let started = Instant::now();
        let lapse = pulse.lapsed().await;
        (lapse, started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_in_part_is_waited_for_less_than_a_next_request() {
        let pulse = Pulse::default();
        pulse.read();
        let (lapse, after) = lapse_after(&pulse).await;
        assert_eq!(lapse, Lapse::Head);
        assert!(after > HEAD_TIMEOUT && after <= HEAD_TIMEOUT + LOOK_EVERY, "{after:?}");
        pulse.begin();
        pulse.end();
        let (lapse, after) = lapse_after(&pulse).await;
        assert_eq!(lapse, Lapse::Idle);
        assert!(after > IDLE_TIMEOUT && after <= IDLE_TIMEOUT + LOOK_EVERY, "{after:?}");
    }

    /// P71: however a head trickles, it has the same time; what came before the first look counts.
    #[tokio::test(start_paused = true)]
    async fn the_time_for_a_head_begins_when_the_connection_does() {
        for waited in [0, 1, 300, 2_999, 4_900, 5_000].map(Duration::from_millis) {
            let pulse = Pulse::new(waited);
            pulse.read();
            let (lapse, after) = lapse_after(&pulse).await;
            let after = waited + after;
            assert_eq!(lapse, Lapse::Head);
            assert!(after > HEAD_TIMEOUT && after <= HEAD_TIMEOUT + LOOK_EVERY, "{after:?}");
        }
    }

    /// A head that begins between two looks has its time too, and a trickle wins none.
    #[tokio::test(start_paused = true)]
    async fn a_trickle_wins_no_time() {
        let pulse = Pulse::default();
        let trickle = async {
            sleep(LOOK_EVERY * 3 / 2).await;
            let begun = Instant::now();
            loop {
                pulse.read();
                sleep(LOOK_EVERY / 4).await;
                assert!(begun.elapsed() <= HEAD_TIMEOUT + LOOK_EVERY, "{:?}", begun.elapsed());
            }
        };
        let started = Instant::now();
        tokio::select! {
            lapse = pulse.lapsed() => assert_eq!(lapse, Lapse::Head),
            () = trickle => {}
        }
        assert!(started.elapsed() > LOOK_EVERY * 3 / 2 + HEAD_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_flight_keeps_nobody_waiting() {
        let pulse = Pulse::default();
        pulse.read();
        pulse.begin();
        assert!(timeout(10 * IDLE_TIMEOUT, pulse.lapsed()).await.is_err());
    }
}
