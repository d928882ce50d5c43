//! The example of the README in a crate of somebody else's, outside of this workspace.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use tidegate_testkit::free_port;

/// What a service that limits its requests need not build.
const HEAVY: [&str; 6] = ["tonic", "prost", "redis", "tidegate-server", "tidegate-redis", "h2"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where such crates are built: beside what cargo builds of this one, wherever that is.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("fresh-crate")
}

/// A crate in a folder of its own, which is removed with this.
struct Crate(PathBuf);

impl Crate {
    /// A crate with this program and these lines below `[dependencies]`, besides the two of ours.
    fn new(name: &str, program: &str, features: &str, others: &str) -> Crate {
        let folder = std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        let (root, ours) = (root(), "crates/tidegate");
        let library = root.join(ours);
        let tower = root.join(format!("{ours}-tower"));
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\ntidegate = {{ path = {library:?} }}\n\
             tidegate-tower = {{ path = {tower:?}, features = [{features}] }}\n{others}\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/main.rs"), program).unwrap();
        // The versions that are here already.
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Crate(folder)
    }

    fn cargo(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO"))
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", target())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The names of everything that is built for it.
    fn dependencies(&self) -> Vec<String> {
        let tree =
            self.cargo(&["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
        let name = |line: &str| line.split(' ').next().map(str::to_owned);
        tree.lines().filter_map(name).collect()
    }
}

impl Drop for Crate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The status line and the rest of the answer to a request.
fn get(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn the_example_of_the_readme_limits_a_service_and_builds_no_server() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let section = readme.split("### In a Rust service").nth(1).unwrap();
    let example = section.split("```rust,no_run\n").nth(1).unwrap().split("```").next().unwrap();
    let address = "(\"127.0.0.1\", std::env::var(\"PORT\")?.parse::<u16>()?)";
    let example = example.replace("\"127.0.0.1:3000\"", address);
    assert!(example.contains(address), "{example}");
    let others = "axum = { version = \"0.8\", default-features = false, features = [\"http1\", \
                  \"tokio\"] }\ntokio = { version = \"1\", features = [\"macros\", \"net\", \
                  \"rt-multi-thread\"] }\n";
    let fresh = Crate::new("fresh-service", &example, "\"axum\"", others);
    let built = fresh.dependencies();
    assert!(built.iter().any(|name| name == "axum"), "{built:?}");
    assert!(!built.iter().any(|name| HEAVY.contains(&name.as_str())), "{built:?}");

    fresh.cargo(&["build"]);
    // Chosen only now: a build takes long enough for somebody else to take a port.
    let port = free_port();
    let program = target().join("debug/fresh-service");
    let _running = Running(Command::new(program).env("PORT", port.to_string()).spawn().unwrap());
    let first = (0..1_000).find_map(|_| {
        sleep(Duration::from_millis(10));
        get(port)
    });
    let first = first.unwrap();
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n") && first.ends_with("hello"), "{first}");
    let denied = (0..1_000).filter_map(|_| get(port)).find(|answer| !answer.contains(" 200 OK"));
    let denied = denied.unwrap();
    assert!(denied.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{denied}");
    assert!(denied.ends_with("\r\n\r\nrate limit exceeded\n"), "{denied}");
}

/// By default the middleware is a few small crates: no server, no gRPC, no Redis.
#[test]
fn without_features_nothing_heavy_is_built() {
    let fresh = Crate::new("fresh-library", "fn main() {}", "", "");
    let built = fresh.dependencies();
    assert!(built.iter().any(|name| name == "tidegate-tower"), "{built:?}");
    let heavy = HEAVY.into_iter().chain(["axum", "hyper", "tower", "mio"]);
    let found: Vec<&str> = heavy.filter(|heavy| built.iter().any(|name| name == heavy)).collect();
    assert_eq!(found, [""; 0], "of {built:?}");
    fresh.cargo(&["check"]);
}
