//! One connection, from its first bytes to its end.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::constants::{
    HEAD_TIMEOUT, LINGER, MAX_HEAD, MAX_HEADERS, MAX_STREAMS, PING_EVERY, PING_TIMEOUT,
};
use crate::shutdown::Shutdown;

use super::pulse::{Attended, Lapse, Pulse, Watched};

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
    type Reply: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
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
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Reply = B;
}

/// Serves one connection until it ends, or until the word to stop and then what is in flight.
pub(crate) async fn serve<S: Http>(
    stream: TcpStream,
    protocol: Protocol,
    service: S,
    mut shutdown: Shutdown,
) {
    // Answers are small; none must wait for an acknowledgement of the one before. A socket that
    // refuses the option still works.
    let _ = stream.set_nodelay(true);
    let version = tokio::select! {
        version = timeout(HEAD_TIMEOUT, version(&stream)) => version,
        () = shutdown.wait() => return,
    };
    match version {
        Ok(Ok(Version::Http2)) => serve_http2(stream, service, shutdown).await,
        Ok(Ok(Version::Http1)) if protocol == Protocol::Any => {
            serve_http1(stream, service, shutdown).await;
        }
        // Gone, silent, or speaking what this port does not.
        _ => {}
    }
}

async fn serve_http2<S: Http>(stream: TcpStream, service: S, mut shutdown: Shutdown) {
    let mut connection = pin!(http2_builder().serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        biased;
        // How a connection ended is between the client and its network.
        _ = connection.as_mut() => return,
        () = shutdown.wait() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn serve_http1<S: Http>(stream: TcpStream, service: S, mut shutdown: Shutdown) {
    let pulse = Arc::new(Pulse::default());
    let stream = Watched::new(stream, Arc::clone(&pulse));
    let service = Attended::new(service, Arc::clone(&pulse));
    let mut connection = http1_builder().serve_connection(stream, service);
    let is_over = tokio::select! {
        biased;
        _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => true,
        () = shutdown.wait() => false,
        lapse = pulse.lapsed() => match lapse {
            Lapse::Head => return,
            Lapse::Idle => false,
        },
    };
    if !is_over {
        Pin::new(&mut connection).graceful_shutdown();
        tokio::select! {
            _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => {}
            _ = pulse.lapsed() => return,
        }
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
        .max_headers(MAX_HEADERS)
        // A client that closes its side once its request is whole still gets the answer.
        .half_close(true);
    builder
}

fn http2_builder() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
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

/// Looks at a connection's first bytes without taking them.
async fn version(stream: &TcpStream) -> io::Result<Version> {
    let mut seen = [0; PREFACE.len()];
    loop {
        let count = stream.peek(&mut seen).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if seen[..count] != PREFACE[..count] {
            return Ok(Version::Http1);
        }
        if count == PREFACE.len() {
            return Ok(Version::Http2);
        }
        // The preface came in pieces. Bytes that were only looked at keep the socket readable, so
        // there is nothing to wait for but time.
        sleep(Duration::from_millis(5)).await;
    }
}
