//! A client in another language, against the example `tonic` as a process of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use tidegate_testkit::free_port;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn python_sees_the_status_the_trailer_and_the_details() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "tidegate-tower", "--example", "tonic"]);
    assert!(cargo.current_dir(&root).status().unwrap().success(), "the example builds");
    let deps = std::env::current_exe().unwrap();
    let example = deps.parent().and_then(Path::parent).unwrap().join("examples/tonic");
    let port = free_port().to_string();
    let child = Command::new(example).env("PORT", &port).stdout(Stdio::null()).spawn().unwrap();
    let _running = Running(child);

    let python = root.join(".cache/python-grpc/bin/python");
    assert!(python.exists(), "no Python client yet: run scripts/python-grpc.sh");
    let client = here.join("tests/grpc/client.py");
    let output = Command::new(python).arg(client).arg(&port).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
}
