//! A connection's stream: what it began with put back before it, and its pulse taken.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::net::TcpStream;

use super::pulse::Pulse;

/// A stream whose reads and writes leave marks.
pub(super) struct Watched {
    /// Bytes that were read already, to be read again.
    opening: Bytes,
    stream: TokioIo<TcpStream>,
    pulse: Arc<Pulse>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, opening: Bytes, pulse: Arc<Pulse>) -> Watched {
        Watched { opening, stream: TokioIo::new(stream), pulse }
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream.into_inner()
    }

    /// Whether the system holds bytes of which the runtime may not yet have heard.
    fn holds_more(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        SockRef::from(self.stream.inner()).peek(&mut byte).is_ok_and(|count| count > 0)
    }

    fn wrote<T>(&self, written: Poll<T>) -> Poll<T> {
        self.pulse.wrote(written.is_pending());
        written
    }
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = if self.opening.is_empty() {
            Pin::new(&mut self.stream).poll_read(cx, buffer)
        } else {
            let count = self.opening.len().min(buffer.remaining());
            buffer.put_slice(&self.opening[..count]);
            self.opening.advance(count);
            Poll::Ready(Ok(()))
        };
        if read.is_ready() || (self.pulse.is_ending() && self.holds_more()) {
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
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written)
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
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.wrote(written)
    }
}
