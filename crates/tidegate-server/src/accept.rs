//! Opening ports, and the one loop that accepts connections on them.

mod at_once;
mod connection;
mod cores;
mod pulse;
mod seldom;
mod streams;
mod watched;

use std::io;
use std::iter;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::pin::pin;

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinSet};

pub(crate) use connection::{Http, Protocol};
pub(crate) use cores::Cores;

use crate::constants::{ACCEPT_PAUSE, BACKLOG, GRACE, MAX_CONNECTIONS, PAUSES_PER_LINE};
use crate::settings::Listen;
use crate::shutdown::Shutdown;

/// Opens a port. `::` takes IPv6 and IPv4, or IPv4 alone where IPv6 is off.
///
/// # Errors
///
/// When the address is none, or is taken.
pub(crate) fn bind(listen: &Listen) -> io::Result<TcpListener> {
    if listen.host == "::" {
        let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, listen.port));
        return open(any).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
            // Anything else means that this system has no IPv6.
            _ => open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, listen.port))),
        });
    }
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (listen.host.as_str(), listen.port).to_socket_addrs()? {
        match open(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A restart need not wait for connections of the process before it to time out.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts connections and serves each in a task on one of the cores until the word to stop; then
/// lets those in flight finish, for [`GRACE`] at most.
pub(crate) async fn run<S: Http>(
    listener: TcpListener,
    protocol: Protocol,
    service: S,
    cores: &Cores,
    mut shutdown: Shutdown,
) {
    let mut connections = JoinSet::new();
    let door = Door { protocol, service, shutdown: shutdown.clone() };
    {
        // Kept over the rounds: a pause in it is not cut short by a connection that ends.
        let mut accepted = pin!(accept(&listener));
        loop {
            let is_full = connections.len() >= MAX_CONNECTIONS;
            tokio::select! {
                stream = accepted.as_mut(), if !is_full => {
                    accepted.set(accept(&listener));
                    door.admit(stream, cores, &mut connections);
                }
                Some(ended) = connections.join_next(), if !connections.is_empty() => see(ended),
                () = shutdown.wait() => break,
            }
        }
    }
    for stream in queued(listener) {
        door.admit(stream, cores, &mut connections);
    }
    drop(door);
    let finish = async {
        while let Some(ended) = connections.join_next().await {
            see(ended);
        }
    };
    if tokio::time::timeout(GRACE, finish).await.is_err() {
        tracing::warn!(connections = connections.len(), "cut off what did not finish in time");
    }
}

/// What every connection of one port gets.
struct Door<S> {
    protocol: Protocol,
    service: S,
    shutdown: Shutdown,
}

impl<S: Http> Door<S> {
    /// Gives a connection to a core.
    fn admit(&self, stream: TcpStream, cores: &Cores, connections: &mut JoinSet<()>) {
        let (protocol, service, shutdown) =
            (self.protocol, self.service.clone(), self.shutdown.clone());
        let seat = cores.seat();
        let runtime = seat.runtime();
        let connection = async move {
            let _seat = seat;
            // Made here, since a stream is woken by the runtime that it was made in.
            if let Ok(stream) = tokio::net::TcpStream::from_std(stream) {
                connection::serve(stream, protocol, service, shutdown).await;
            }
        };
        connections.spawn_on(connection, &runtime);
    }
}

/// The connections that the system had queued when the listener closed: a request may be in each.
/// Further ones are refused, so that their clients try elsewhere at once.
fn queued(listener: TcpListener) -> impl Iterator<Item = TcpStream> {
    // Asked of the system itself, since the runtime may not have heard of the last ones.
    let listener = listener.into_std().ok();
    let accepted = iter::from_fn(move || Some(listener.as_ref()?.accept().ok()?.0));
    let accepted = accepted.take(BACKLOG.unsigned_abs() as usize);
    accepted.filter(|stream| stream.set_nonblocking(true).is_ok())
}

/// Says so when a connection ended by a fault of ours; the others go on.
fn see(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!("a connection was given up: {error}");
    }
}

/// The next connection. A failed accept never ends the loop: one that is the peer's matter is
/// forgotten; one for want of files or memory is tried again after a pause, so as not to spin.
async fn accept(listener: &TcpListener) -> TcpStream {
    let mut pauses = 0_u32;
    loop {
        match listener.accept().await.and_then(|(stream, _)| stream.into_std()) {
            Ok(stream) => return stream,
            Err(error) if is_the_peers(&error) => {}
            Err(error) => {
                if pauses.is_multiple_of(PAUSES_PER_LINE) {
                    tracing::error!("cannot accept connections: {error}");
                }
                pauses = pauses.wrapping_add(1);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_the_peers(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::body::Incoming;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::{Protocol, SocketAddr, TcpListener, io, run};
    use crate::accept::Cores;
    use crate::shutdown;

    type Answering =
        Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send>>;

    /// A log that can be read.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("a log").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    async fn ask(at: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(at).await.expect("a connection");
        let request = format!("GET {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut answer = String::new();
        // A connection that is given up may end in a reset.
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    #[tokio::test]
    async fn a_connection_that_panics_is_logged_and_harms_no_other() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        let service = service_fn(|request: Request<Incoming>| -> Answering {
            assert!(request.uri().path() != "/fault", "a fault");
            Box::pin(async { Ok(Response::new(Full::default())) })
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let (stopper, stopped) = shutdown::channel();
        let clients = async {
            assert_eq!(ask(at, "/fault").await, "");
            assert!(ask(at, "/good").await.starts_with("HTTP/1.1 200 "));
            stopper.stop();
        };
        let cores = Cores::here();
        tokio::join!(run(listener, Protocol::Any, service, &cores, stopped), clients);
        let log = String::from_utf8(log.0.lock().expect("a log").clone()).expect("text");
        assert!(
            log.contains("a connection was given up: task") && log.contains("a fault"),
            "{log}"
        );
    }
}
