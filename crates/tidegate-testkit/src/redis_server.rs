//! A Redis server of a test's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How often a starting server is asked whether it is there, and for how long.
const ASK_EVERY: Duration = Duration::from_millis(10);
const ASK_TIMES: u32 = 1_000;

/// How often another port is tried when one was taken between its choice and its use.
const PORTS_TRIED: u32 = 5;

/// A `redis-server` on a free port of this machine, or on a Unix socket, in a directory of its own. It
/// keeps nothing on disk, and ends when this is dropped.
///
/// Its methods panic when something is not as a test needs it.
///
/// # Examples
///
/// ```no_run
/// use tidegate_testkit::RedisServer;
///
/// let server = RedisServer::start(&["--requirepass", "swordfish"]);
/// assert_eq!(server.command(&["PING"]), "NOAUTH Authentication required.");
/// ```
#[derive(Debug)]
pub struct RedisServer {
    place: Place,
    args: Vec<String>,
    directory: PathBuf,
    child: Option<Child>,
}

/// Where the server listens.
#[derive(Clone, Debug)]
enum Place {
    Port(u16),
    Socket(PathBuf),
}

impl RedisServer {
    /// Starts a server on a free port, with more arguments as on its command line, and waits until it
    /// answers.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, or it does not start.
    #[must_use]
    pub fn start(args: &[&str]) -> RedisServer {
        for _ in 0..PORTS_TRIED {
            let mut server = RedisServer::new(Place::Port(free_port()), args);
            if server.launch() {
                return server;
            }
        }
        panic!("redis-server ended at once with {args:?}; are its arguments right?");
    }

    /// Starts a server on a Unix socket and on no port.
    ///
    /// # Panics
    ///
    /// As for [`RedisServer::start`].
    #[must_use]
    pub fn start_on_socket(args: &[&str]) -> RedisServer {
        let mut server = RedisServer::new(Place::Socket(PathBuf::new()), args);
        server.place = Place::Socket(server.directory.join("redis.sock"));
        assert!(server.launch(), "redis-server ended at once with {args:?}");
        server
    }

    /// The port it listens on.
    ///
    /// # Panics
    ///
    /// When it listens on a socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        match &self.place {
            Place::Port(port) => *port,
            Place::Socket(path) => panic!("the server listens on {}", path.display()),
        }
    }

    /// The socket it listens on.
    ///
    /// # Panics
    ///
    /// When it listens on a port.
    #[must_use]
    pub fn socket(&self) -> &Path {
        match &self.place {
            Place::Port(port) => panic!("the server listens on port {port}"),
            Place::Socket(path) => path,
        }
    }

    /// Stops the process where it is (SIGSTOP): it accepts connections and answers nothing.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets a paused process go on (SIGCONT).
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Kills the process; its port refuses connections from then on.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Fails only for a process that ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the server again, empty, where it was before.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn restart(&mut self) {
        self.stop();
        assert!(self.launch(), "redis-server did not start again");
    }

    /// Sends one command and returns its reply as text: an array's elements one a line, a nil as
    /// `(nil)`, an error as its message.
    ///
    /// # Panics
    ///
    /// When the server does not reply.
    pub fn command(&self, words: &[&str]) -> String {
        self.try_command(words).unwrap_or_else(|error| panic!("no reply to {words:?}: {error}"))
    }

    fn try_command(&self, words: &[&str]) -> std::io::Result<String> {
        match &self.place {
            Place::Port(port) => exchange(TcpStream::connect(("127.0.0.1", *port))?, words),
            Place::Socket(path) => exchange(UnixStream::connect(path)?, words),
        }
    }

    fn new(place: Place, args: &[&str]) -> RedisServer {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-redis-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", directory.display()));
        RedisServer {
            place,
            args: args.iter().map(ToString::to_string).collect(),
            directory,
            child: None,
        }
    }

    /// Starts the process and waits until it answers; false when it ended by itself.
    fn launch(&mut self) -> bool {
        let mut command = Command::new("redis-server");
        match &self.place {
            Place::Port(port) => {
                command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
            }
            Place::Socket(path) => {
                command.args(["--port", "0", "--unixsocket"]).arg(path);
            }
        }
        command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        command.arg("--dir").arg(&self.directory).args(&self.args);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        self.child = Some(child.unwrap_or_else(|error| {
            panic!("cannot run redis-server ({error}); try `apt-get install -y redis-server`")
        }));
        for _ in 0..ASK_TIMES {
            let ended = self.child.as_mut().map(Child::try_wait);
            if !matches!(ended, Some(Ok(None))) {
                return false;
            }
            if self.try_command(&["PING"]).is_ok() {
                return true;
            }
            sleep(ASK_EVERY);
        }
        panic!("redis-server did not answer in ten seconds");
    }

    fn signal(&self, signal: &str) {
        let Some(child) = &self.child else {
            panic!("the server is stopped");
        };
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "cannot send {signal}");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
        // Left behind in the temporary directory at worst.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A port of this machine that nobody listened on just now.
///
/// # Panics
///
/// When there is none.
///
/// # Examples
///
/// ```
/// assert_ne!(tidegate_testkit::free_port(), 0);
/// ```
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.unwrap_or_else(|error| panic!("no free port: {error}")).port()
}

/// Sends a command and reads its reply.
fn exchange<S: Read + Write>(mut stream: S, words: &[&str]) -> std::io::Result<String> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(request.as_bytes())?;
    read_reply(&mut BufReader::new(stream))
}

/// Reads one reply as text.
fn read_reply(stream: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let line = line.trim_end();
    let Some((kind, rest)) = line.split_at_checked(1) else {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    };
    let length = rest.parse::<i64>().unwrap_or(0);
    match kind {
        "$" | "*" if length < 0 => Ok("(nil)".to_owned()),
        "$" => {
            let mut bulk = vec![0; usize::try_from(length).unwrap_or(0) + 2];
            stream.read_exact(&mut bulk)?;
            bulk.truncate(bulk.len() - 2);
            Ok(String::from_utf8_lossy(&bulk).into_owned())
        }
        "*" => {
            let elements: std::io::Result<Vec<String>> =
                (0..length).map(|_| read_reply(stream)).collect();
            Ok(elements?.join("\n"))
        }
        _ => Ok(rest.to_owned()),
    }
}
