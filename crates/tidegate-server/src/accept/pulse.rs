//! Who keeps an HTTP/1 connection waiting, and for how long.
//!
//! hyper's own timer for heads starts when the last answer is sent: it would close a connection
//! that is only idle, under a client that is about to use it again, and it would set a timer with
//! every request. Here requests only leave marks, and one look a second reads them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Response;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::Service;
use tokio::time::sleep;

use crate::constants::{HEAD_TIMEOUT, IDLE_TIMEOUT, LOOK_EVERY, QUIET};
use crate::shutdown::Shutdown;

/// The marks of one connection. Its one task writes them, so plain stores do.
#[derive(Debug)]
pub(super) struct Pulse {
    /// Here because each answer asks it, and a clone for each would be a count shared by all.
    shutdown: Shutdown,
    /// How long the client was waited for before the first look.
    waited: Duration,
    /// Reads that brought bytes.
    reads: AtomicU64,
    /// What `reads` was when the last answer was given: bytes since then belong to a next head.
    settled: AtomicU64,
    begun: AtomicU64,
    ended: AtomicU64,
    /// Whether the client leaves unread what was written.
    blocked: AtomicBool,
    /// Whether the end is near, and reads look twice.
    ending: AtomicBool,
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
    pub(super) fn new(shutdown: Shutdown, waited: Duration) -> Pulse {
        Pulse {
            shutdown,
            waited,
            reads: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
            ending: AtomicBool::new(false),
        }
    }

    // Relaxed throughout: one task writes and reads all marks.
    pub(super) fn read(&self) {
        bump(&self.reads);
    }

    pub(super) fn wrote(&self, is_pending: bool) {
        self.blocked.store(is_pending, Ordering::Relaxed);
    }

    /// Whether the client leaves unread what was written.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    /// Whether a read that finds nothing must be sure of it.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    fn begin(&self) {
        bump(&self.begun);
    }

    fn end(&self) {
        bump(&self.ended);
        self.settled.store(self.reads.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Reads that brought bytes, requests begun and answers given.
    fn marks(&self) -> [u64; 3] {
        [&self.reads, &self.begun, &self.ended].map(|mark| mark.load(Ordering::Relaxed))
    }

    /// Waits until nothing comes, is being answered or is being sent any more.
    pub(super) async fn quiet(&self) {
        self.ending.store(true, Ordering::Relaxed);
        loop {
            let before = self.marks();
            sleep(QUIET).await;
            let now = self.marks();
            let [reads, begun, ended] = now;
            let has_part = reads != self.settled.load(Ordering::Relaxed);
            if now == before && begun == ended && !has_part && !self.is_blocked() {
                return;
            }
        }
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

/// A service whose requests leave marks, and whose answers say when they are the last.
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
    type Response = Response<B>;
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

impl<B, E, F> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut answer = Pin::new(&mut self.future).poll(cx);
        if let Poll::Ready(answer) = &mut answer {
            self.pulse.end();
            if let Ok(answer) = answer
                && self.pulse.shutdown.is_near()
            {
                // hyper reads this, and closes after it.
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shutdown::channel;
    use tokio::time::{Instant, timeout};

    async fn lapse_after(pulse: &Pulse) -> (Lapse, Duration) {
        let started = Instant::now();
        let lapse = pulse.lapsed().await;
        (lapse, started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_in_part_is_waited_for_less_than_a_next_request() {
        let pulse = Pulse::new(channel().1, Duration::ZERO);
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
            let pulse = Pulse::new(channel().1, waited);
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
        let pulse = Pulse::new(channel().1, Duration::ZERO);
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
        let pulse = Pulse::new(channel().1, Duration::ZERO);
        pulse.read();
        pulse.begin();
        assert!(timeout(10 * IDLE_TIMEOUT, pulse.lapsed()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_comes_when_nothing_moves_any_more() {
        let pulse = Pulse::new(channel().1, Duration::ZERO);
        let started = Instant::now();
        pulse.quiet().await;
        assert_eq!(started.elapsed().as_millis(), QUIET.as_millis());
        let blocked = || pulse.wrote(true);
        for disturb in [&blocked as &dyn Fn(), &|| pulse.read(), &|| pulse.begin()] {
            disturb();
            assert!(timeout(100 * QUIET, pulse.quiet()).await.is_err());
            pulse.wrote(false);
        }
        pulse.end();
        assert!(timeout(2 * QUIET, pulse.quiet()).await.is_ok());
    }
}
