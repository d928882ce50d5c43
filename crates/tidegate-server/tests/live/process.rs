//! A service process of a test's own, on free ports, gone when the test ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub(crate) use tidegate_testkit::free_port;

/// How long a process may take to start or to stop before a test gives up: far above what it takes.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tidegate");

/// Lets the system choose every port.
pub(crate) const ANY_PORTS: [(&str, &str); 3] = [
    ("TIDEGATE_LISTEN__HTTP", "127.0.0.1:0"),
    ("TIDEGATE_LISTEN__GRPC", "127.0.0.1:0"),
    ("TIDEGATE_METRICS__LISTEN", "127.0.0.1:0"),
];

/// A running service.
pub(crate) struct Service {
    child: Child,
    folder: PathBuf,
    pub(crate) http: u16,
    pub(crate) grpc: u16,
    pub(crate) metrics: u16,
}

/// What a service starts with beyond its configuration.
#[derive(Default)]
pub(crate) struct Start<'a> {
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// The most files it may have open; none leaves that to the system.
    pub(crate) files: Option<u32>,
}

impl Service {
    /// Starts a service on this configuration and waits until it listens.
    pub(crate) fn start(config: &str) -> Service {
        Service::start_with(config, &Start::default())
    }

    /// Starts a service on this configuration, with this.
    pub(crate) fn start_with(config: &str, start: &Start<'_>) -> Service {
        let folder = fresh_folder();
        std::fs::write(folder.join("limits.yaml"), config).expect("write a configuration");
        Service::launch(folder, "serve --config limits.yaml", start)
    }

    /// Starts a service with nothing to read, as a newcomer does.
    pub(crate) fn start_unconfigured() -> Service {
        Service::launch(fresh_folder(), "", &Start::default())
    }

    fn launch(folder: PathBuf, arguments: &str, start: &Start<'_>) -> Service {
        let log = std::fs::File::create(folder.join("log")).expect("create a log");
        let limit = start.files.map(|files| format!("ulimit -n {files}; ")).unwrap_or_default();
        let child = Command::new("sh")
            .args(["-c", &format!("{limit}exec \"$0\" {arguments}"), PROGRAM])
            .current_dir(&folder)
            .envs(ANY_PORTS)
            .env_remove("TIDEGATE_LOG")
            .env_remove("RUST_LOG")
            .envs(start.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("start the service");
        let mut service = Service { child, folder, http: 0, grpc: 0, metrics: 0 };
        service.wait_until_it_listens();
        service
    }

    /// Several services on one configuration.
    pub(crate) fn fleet(config: &str, count: usize) -> Vec<Service> {
        (0..count).map(|_| Service::start(config)).collect()
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The messages it has logged so far; a test fails when a line is not JSON.
    pub(crate) fn messages(&self) -> Vec<String> {
        let log = self.log();
        let whole = log.lines().take(log.matches('\n').count());
        let message = |line: &str| {
            let json: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            json["message"].as_str().expect("a message").to_owned()
        };
        whole.map(message).collect()
    }

    /// Waits for a message with these words.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        until(words, || self.messages().into_iter().find(|message| message.contains(words)))
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.expect("kill").success(), "signal {signal} was sent");
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        until("the service ends", || self.child.try_wait().expect("its state")).code()
    }

    /// Sends a signal by name and waits for the end; gives the exit code.
    pub(crate) fn stop(&mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.end()
    }

    /// Reads from its log where it listens: the system chose the ports.
    fn wait_until_it_listens(&mut self) {
        let line = until("the service listens", || {
            if let Some(status) = self.child.try_wait().expect("its state") {
                panic!("the service ended with {status}:\n{}", self.log());
            }
            self.messages().into_iter().find(|message| message.starts_with("listening: "))
        });
        let port = |what: &str| -> u16 {
            let address = line.split(what).nth(1).and_then(|rest| rest.split(',').next());
            let address: SocketAddr = address.expect(what).parse().expect("an address");
            address.port()
        };
        (self.http, self.grpc) = (port("REST on "), port("gRPC on "));
        self.metrics = port("metrics on ");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Asks again and again until there is an answer; a test fails when there is none in time.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let rounds = PATIENCE.as_millis() / PAUSE.as_millis();
    for _ in 0..rounds {
        if let Some(answer) = ask() {
            return answer;
        }
        sleep(PAUSE);
    }
    panic!("waited {PATIENCE:?} in vain: {what}");
}

/// What a GET of `path` gives: status line, headers and body, or nothing when nobody answers.
pub(crate) fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// A folder of the caller's own.
pub(crate) fn fresh_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder =
        std::env::temp_dir().join(format!("tidegate-live-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}
