//! The start of a process: what the first lines of its log tell, and what its surroundings allow.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use crate::client::Client;
use crate::process::{ANY_PORTS, PROGRAM, Service, Start, fresh_folder};

const TWO_LIMITS: &str = "policies:\n  default:\n    limits:\n      \
    - { name: burst, algorithm: token_bucket, capacity: 10, rate: 0.1 }\n      \
    - { name: daily, algorithm: fixed_window, max_requests: 50, window_size: 1d }\n";

/// P64: the start says in plain words what the limits are, and a line to try them that works.
#[test]
fn the_first_lines_say_where_from_what_and_how_to_try_it() {
    let service = Service::start(TWO_LIMITS);
    let line = service.wait_for("try: ");
    let messages = service.messages();
    assert_eq!(messages[0], "configuration: limits.yaml");
    for words in [
        "policy default, limit burst: 10 at once, then 1 every 10 s",
        "policy default, limit daily: at most 50 per UTC day",
    ] {
        assert!(messages.iter().any(|message| message == words), "{words} in {messages:#?}");
    }
    let command = line.strip_prefix("try: ").expect("a command");
    let port = service.http;
    assert_eq!(
        command,
        format!("curl -i -X POST -H 'X-Client-Key: alice' http://localhost:{port}/limit")
    );
    let command = command.replace("localhost", "127.0.0.1");
    let output = Command::new("sh").args(["-c", &command]).output().expect("run curl");
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn without_a_configuration_the_first_line_says_so() {
    let service = Service::start_unconfigured();
    let messages = service.messages();
    assert!(messages[0].starts_with("configuration: "), "{messages:#?}");
    let limit = "policy default, limit default: 10 at once, then 1 per second";
    assert!(messages.iter().any(|message| message == limit), "{messages:#?}");
}

/// A level that cannot be read is told, but not before the first line.
#[test]
fn a_level_that_cannot_be_read_comes_after_the_first_line() {
    let environment = [("TIDEGATE_LOG", "no=such=level")];
    let start = Start { environment: &environment, ..Start::default() };
    let service = Service::start_with(TWO_LIMITS, &start);
    let messages = service.messages();
    assert_eq!(messages[0], "configuration: limits.yaml");
    let complaint = "cannot read the log level \"no=such=level\"; using info";
    assert!(messages.iter().any(|message| message == complaint), "{messages:#?}");
    assert_eq!(Client::connect(service.http).limit("alice").status, 200);
}

#[test]
fn on_a_terminal_the_log_is_text() {
    let folder = fresh_folder();
    // The program `script` gives what it runs a terminal, and passes on what is written there.
    let mut script = Command::new("script")
        .args(["-qec", &format!("exec {PROGRAM}"), "/dev/null"])
        .current_dir(&folder)
        .envs(ANY_PORTS)
        .env_remove("TIDEGATE_LOG")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run script; it comes with every Linux");
    let output = script.stdout.take().expect("its output");
    let lines = BufReader::new(output.take(64 * 1024)).lines().map_while(Result::ok);
    let line = lines.into_iter().find(|line| line.contains("listening: "));
    script.kill().expect("end it");
    script.wait().expect("end it");
    std::fs::remove_dir_all(folder).expect("clean up");
    let line = line.expect("the line that says where it listens");
    assert!(line.contains("INFO") && !line.contains('{'), "{line}");
}

/// Runs the program to its end.
fn run(environment: &[(&str, &str)]) -> Output {
    let folder = fresh_folder();
    let mut command = Command::new(PROGRAM);
    command.current_dir(&folder).envs(ANY_PORTS).envs(environment.iter().copied());
    let output = command.stdin(Stdio::null()).output().expect("run the service");
    std::fs::remove_dir_all(folder).expect("clean up");
    output
}

#[test]
fn a_port_that_is_taken_ends_the_process_with_one_and_says_which() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = run(&[("TIDEGATE_LISTEN__HTTP", &address)]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&address) && said.contains("listen.http"), "{said}");
}

/// Running out of files neither ends the service nor lets it spin.
#[test]
fn connections_beyond_the_systems_limit_wait_their_turn() {
    let start = Start { files: Some(40), ..Start::default() };
    let mut service = Service::start_with(TWO_LIMITS, &start);
    let held: Vec<Client> = (0..60).map(|_| Client::connect(service.http)).collect();
    service.wait_for("cannot accept connections");
    drop(held);
    let health = Client::connect(service.http).get("/health").expect("an answer");
    assert_eq!(health.status, 200);
    assert_eq!(service.stop("TERM"), Some(0));
    let messages = service.messages();
    assert_eq!(messages.last().map(String::as_str), Some("stopped"));
    let lines = messages.iter().filter(|line| line.contains("cannot accept")).count();
    assert!(lines <= 5, "{lines} lines");
}
