//! A plain HTTP/1.1 client that keeps its connection, and one thread per client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One connection.
pub(crate) struct Client(BufReader<TcpStream>);

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Whether the connection ends with it.
    pub(crate) is_last: bool,
}

impl Client {
    /// Connects; a test fails when nobody accepts.
    pub(crate) fn connect(port: u16) -> Client {
        Client::try_connect(port).expect("connect")
    }

    pub(crate) fn try_connect(port: u16) -> io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Client(BufReader::new(stream)))
    }

    /// `POST /limit` for this key; a test fails when there is no answer.
    pub(crate) fn limit(&mut self, key: &str) -> Answer {
        self.try_limit(key).expect("an answer")
    }

    /// `POST /limit` for this key.
    pub(crate) fn try_limit(&mut self, key: &str) -> io::Result<Answer> {
        self.send(&format!("POST /limit HTTP/1.1\r\nHost: t\r\nX-Client-Key: {key}\r\n\r\n"))
    }

    /// Sends bytes as they are and waits for nothing.
    pub(crate) fn write(&mut self, bytes: &str) -> io::Result<()> {
        self.0.get_mut().write_all(bytes.as_bytes())
    }

    /// A GET of this path.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n"))
    }

    /// Sends a request as it is and reads one answer.
    pub(crate) fn send(&mut self, request: &str) -> io::Result<Answer> {
        self.write(request)?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut body)?;
        let body = String::from_utf8(body).expect("text");
        let is_last = head.to_ascii_lowercase().contains("\r\nconnection: close\r\n");
        Ok(Answer { status: status.expect("a status"), body, is_last })
    }
}

/// Sends every key once, from `clients` connections at a time spread over `ports`, and counts how
/// often each status came.
pub(crate) fn send_all(ports: &[u16], clients: usize, keys: &[&str]) -> Counts {
    let next = AtomicUsize::new(0);
    let counts = Mutex::new(Counts::default());
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (next, counts) = (&next, &counts);
            scope.spawn(move || {
                let mut client = Client::connect(ports[client % ports.len()]);
                let mut own = Counts::default();
                while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                    own.add(client.limit(key).status);
                }
                counts.lock().expect("counts").merge(&own);
            });
        }
    });
    counts.into_inner().expect("counts")
}

/// How often a request was allowed, denied, or answered otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) allowed: usize,
    pub(crate) denied: usize,
    pub(crate) other: usize,
}

impl Counts {
    pub(crate) fn of(allowed: usize, denied: usize) -> Counts {
        Counts { allowed, denied, other: 0 }
    }

    pub(crate) fn add(&mut self, status: u16) {
        match status {
            200 => self.allowed += 1,
            429 => self.denied += 1,
            _ => self.other += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: &Counts) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.other += other.other;
    }
}
