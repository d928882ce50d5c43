//! Bare h2: `Allow` without tonic or hyper, on one single-threaded runtime for each processor: what
//! HTTP/2 itself costs.

use std::error::Error;
use std::thread;

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, server};
use http::{HeaderMap, HeaderValue, Request, Response};
use prost::Message;
use servers::wire::{AllowRequest, AllowResponse};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Fault = Box<dyn Error + Send + Sync>;

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), Fault> {
    let mut body = request.into_body();
    let data = body.data().await.transpose()?.unwrap_or_default();
    body.flow_control().release_capacity(data.len())?;
    let ask = AllowRequest::decode(data.get(5..).unwrap_or_default())?;
    let answer = AllowResponse {
        allowed: !ask.key.is_empty(),
    };
    let mut head = Response::new(());
    head.headers_mut()
        .insert("content-type", HeaderValue::from_static("application/grpc"));
    let mut stream = respond.send_response(head, false)?;
    let mut frame = BytesMut::with_capacity(5 + answer.encoded_len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(answer.encoded_len())?);
    answer.encode(&mut frame)?;
    stream.send_data(frame.freeze(), false)?;
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    stream.send_trailers(trailers)?;
    Ok(())
}

async fn connection(stream: std::net::TcpStream) -> Result<(), Fault> {
    let stream = TcpStream::from_std(stream)?;
    let mut connection = server::handshake(stream).await?;
    while let Some(request) = connection.accept().await {
        let (request, respond) = request?;
        let mut answer = Box::pin(answer(request, respond));
        if futures_now(&mut answer).is_none() {
            tokio::spawn(answer);
        }
    }
    Ok(())
}

/// The outcome of a future that is ready at once.
fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

fn core(mut connections: UnboundedReceiver<std::net::TcpStream>) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
        return;
    };
    runtime.block_on(async {
        while let Some(stream) = connections.recv().await {
            tokio::spawn(async {
                // A client that goes away ends its connection only.
                let _ = connection(stream).await;
            });
        }
    });
}

fn main() -> Result<(), Fault> {
    let listener = std::net::TcpListener::bind(servers::address()?)?;
    let cores = thread::available_parallelism()?.get();
    let cores: Vec<_> = (0..cores)
        .map(|_| {
            let (send, receive) = unbounded_channel();
            thread::spawn(move || core(receive));
            send
        })
        .collect();
    for (at, stream) in listener.incoming().enumerate() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        cores[at % cores.len()].send(stream)?;
    }
    Ok(())
}
