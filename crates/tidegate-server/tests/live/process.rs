//! A service process of a test's own, on free ports, gone when the test ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub(crate) use tidegate_testkit::free_port;

/// How long a process may take to start or to stop before a test gives up: far above what it takes.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A running service.
pub(crate) struct Service {
    child: Child,
    folder: PathBuf,
    pub(crate) http: u16,
    pub(crate) grpc: u16,
    pub(crate) metrics: u16,
}

impl Service {
    /// Starts a service on this configuration and waits until it answers. Ports are chosen here.
    pub(crate) fn start(config: &str) -> Service {
        let folder = fresh_folder();
        std::fs::write(folder.join("limits.yaml"), config).expect("write a configuration");
        Service::launch(folder, &["serve", "--config", "limits.yaml"])
    }

    /// Starts a service with nothing to read, as a newcomer does.
    pub(crate) fn start_unconfigured() -> Service {
        Service::launch(fresh_folder(), &[])
    }

    fn launch(folder: PathBuf, arguments: &[&str]) -> Service {
        let [http, grpc, metrics] = [free_port(), free_port(), free_port()];
        let log = std::fs::File::create(folder.join("log")).expect("create a log");
        let child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(arguments)
            .current_dir(&folder)
            .env("TIDEGATE_LISTEN__HTTP", format!("127.0.0.1:{http}"))
            .env("TIDEGATE_LISTEN__GRPC", format!("127.0.0.1:{grpc}"))
            .env("TIDEGATE_METRICS__LISTEN", format!("127.0.0.1:{metrics}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("start the service");
        let mut service = Service { child, folder, http, grpc, metrics };
        service.wait_until_it_answers();
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

    /// Sends a signal by name and waits for the end; gives the exit code.
    pub(crate) fn stop(&mut self, signal: &str) -> Option<i32> {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.expect("kill").success(), "signal {signal} was sent");
        until("the service ends", || self.child.try_wait().expect("its state")).code()
    }

    fn wait_until_it_answers(&mut self) {
        let (http, log) = (self.http, self.folder.join("log"));
        until("the service answers", || {
            if let Some(status) = self.child.try_wait().expect("its state") {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("the service ended with {status}:\n{log}");
            }
            get(http, "/health").filter(|answer| answer.ends_with("ok\n"))
        });
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
