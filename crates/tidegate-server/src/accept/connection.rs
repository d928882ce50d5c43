//! One connection, from its first bytes to its end.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::constants::{
    FAREWELL, HEAD_TIMEOUT, LINGER, MAX_HEAD, MAX_STREAMS, PING_EVERY, PING_TIMEOUT, QUIET,
};
use crate::shutdown::Shutdown;

use super::at_once::AtOnce;
use super::pulse::{Attended, Lapse, Pulse};
use super::seldom::Seldom;
use super::streams::{Counted, Streams};
use super::watched::Watched;

/// What a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1, or HTTP/2 with prior knowledge.
    Any,
    /// HTTP/2 with prior knowledge.
    Http2,
}

/// A service that answers HTTP requests and never fails to.
pub(crate) trait Http:
    hyper::service::Service<
        Request<Incoming>,
        Response = Response<Self::Reply>,
        Error = Infallible,
        Future: Send + Unpin + 'static,
    > + Clone
    + Send
    + Unpin
    + 'static
{
    type Reply: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;
}

impl<S, B> Http for S
where
    S: hyper::service::Service<
            Request<Incoming>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + Unpin + 'static,
        > + Clone
        + Send
        + Unpin
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    type Reply = B;
}

/// Serves one connection until it ends, or until the word to stop and then what is in flight.
pub(crate) async fn serve<S: Http>(
    mut stream: TcpStream,
    protocol: Protocol,
    service: S,
    mut shutdown: Shutdown,
) {
    // Answers are small; none must wait for an acknowledgement of the one before. A socket that
    // refuses the option still works.
    let _ = stream.set_nodelay(true);
    let accepted = Instant::now();
    let opened = tokio::select! {
        biased;
        opened = timeout(HEAD_TIMEOUT, open(&mut stream)) => opened,
        () = quiet(&mut shutdown) => return linger(stream).await,
    };
    match opened {
        Ok(Ok((Version::Http2, opening))) => {
            serve_http2(stream, opening, service, shutdown).await;
        }
        Ok(Ok((Version::Http1, opening))) if protocol == Protocol::Any => {
            let opening = (opening, accepted.elapsed());
            serve_http1(stream, opening, service, shutdown).await;
        }
        // Gone, silent, or speaking what this port does not.
        _ => {}
    }
}

/// Waits for the word to stop, and then as long as a first request may be on its way.
async fn quiet(shutdown: &mut Shutdown) {
    shutdown.wait().await;
    sleep(QUIET).await;
}

async fn serve_http2<S: Http>(
    stream: TcpStream,
    opening: Bytes,
    service: S,
    mut shutdown: Shutdown,
) {
    let pulse = Arc::new(Pulse::new(shutdown.clone(), Duration::ZERO));
    let streams = Arc::new(Streams::default());
    let stream = Watched::new(stream, opening, Arc::clone(&pulse));
    let service = Counted::new(service, Arc::clone(&streams));
    let mut connection = pin!(http2_builder().serve_connection(stream, service));
    let is_stopping = tokio::select! {
        biased;
        // How a connection ended is between the client and its network.
        _ = connection.as_mut() => return,
        () = Seldom::new(shutdown.wait()) => true,
        () = Seldom::new(streams.lapsed()) => false,
    };
    // The client is told to begin no more. Whatever it began before it hears that is answered.
    connection.as_mut().graceful_shutdown();
    while timeout(FAREWELL, connection.as_mut()).await.is_err() {
        // Answers that are still to be sent are waited for, but not for ever: only the end has a
        // grace that bounds it.
        if !(streams.are_open() || is_stopping && pulse.is_blocked()) {
            return;
        }
    }
}

/// Serves HTTP/1. Beside what it opened with goes what the client has used already of the time for its
/// first head.
async fn serve_http1<S: Http>(
    stream: TcpStream,
    (opening, waited): (Bytes, Duration),
    service: S,
    mut shutdown: Shutdown,
) {
    let pulse = Arc::new(Pulse::new(shutdown.clone(), waited));
    let stream = Watched::new(stream, opening, Arc::clone(&pulse));
    // Once the end is near, each answer says that it is the connection's last.
    let service = Attended::new(service, Arc::clone(&pulse));
    let mut connection = http1_builder().serve_connection(stream, service);
    let quiet = async {
        shutdown.wait().await;
        pulse.quiet().await;
    };
    tokio::select! {
        // The connection first: it sees what came before anyone calls it idle.
        biased;
        _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => {}
        lapse = Seldom::new(pulse.lapsed()) => match lapse {
            Lapse::Head => return,
            Lapse::Idle => {}
        },
        () = Seldom::new(quiet) => {}
    }
    linger(connection.into_parts().io.into_stream()).await;
}

/// Closes a connection so that the client can read the last answer: a socket that is closed with
/// bytes unread makes the system take back what was sent. So what a client still sends after a
/// refusal is read for a moment, and thrown away.
async fn linger(mut stream: TcpStream) {
    let drain = async {
        stream.shutdown().await?;
        let mut sink = [0; 4_096];
        while stream.read(&mut sink).await? > 0 {}
        io::Result::Ok(())
    };
    // Gone either way.
    let _ = timeout(LINGER, drain).await;
}

fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Heads are timed by the connection's pulse.
    builder
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD)
        // Answers are small: one piece is written for less than a list of pieces.
        .writev(false)
        // At most 100 header lines, which is hyper's own bound: one that is set costs an allocation
        // with every request.
        // A client that closes its side once its request is whole still gets the answer.
        .half_close(true);
    builder
}

fn http2_builder() -> http2::Builder<AtOnce> {
    let mut builder = http2::Builder::new(AtOnce);
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// The version that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Http1,
    Http2,
}

/// What every HTTP/2 connection begins with, and no HTTP/1 request.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads a connection's first bytes, and says what they begin.
async fn open(stream: &mut TcpStream) -> io::Result<(Version, Bytes)> {
    let mut seen = [0; PREFACE.len()];
    let mut count = 0;
    loop {
        let more = stream.read(&mut seen[count..]).await?;
        if more == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        count += more;
        let opening = &seen[..count];
        if *opening != PREFACE[..count] {
            return Ok((Version::Http1, Bytes::copy_from_slice(opening)));
        }
        if count == PREFACE.len() {
            return Ok((Version::Http2, Bytes::from_static(PREFACE)));
        }
    }
}
