//! Every snippet of the README, run as it stands there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::peers::root;
use crate::process::{Service, fresh_folder};

/// A fenced block of the README: its language and its lines.
struct Block {
    language: String,
    text: String,
}

fn blocks(language: &str) -> Vec<Block> {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let fences: Vec<&str> = readme.split("```").collect();
    let blocks = fences.iter().skip(1).step_by(2).map(|fence| {
        let (language, text) = fence.split_once('\n').expect("a block");
        Block { language: language.to_owned(), text: text.to_owned() }
    });
    let blocks: Vec<Block> = blocks.filter(|block| block.language == language).collect();
    assert!(!blocks.is_empty(), "the README has {language} blocks");
    blocks
}

/// A command and the lines that the README shows below it.
fn commands(block: &Block) -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), Vec::new())),
            (None, Some((_, shown))) => shown.push(line.to_owned()),
            (None, None) => panic!("a console block begins with a command: {line}"),
        }
    }
    commands
}

/// Whether a line is as shown, where `…` stands for anything.
fn is_as_shown(line: &str, shown: &str) -> bool {
    let mut rest = line.trim_end();
    for (place, part) in shown.split('…').enumerate() {
        match rest.find(part) {
            Some(at) if place > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || shown.ends_with('…')
}

/// The README's words with the ports of a running service.
fn with_ports(text: &str, service: &Service) -> String {
    let ports = [(8080, service.http), (8081, service.grpc), (9091, service.metrics)];
    ports.iter().fold(text.to_owned(), |text, (known, own)| {
        text.replace(&format!("localhost:{known}"), &format!("127.0.0.1:{own}"))
    })
}

/// Runs a command in a shell that finds the service's own program. It must succeed, and so must
/// every command of a pipeline; one that is meant to fail shows its exit code, as in
/// `false; echo "exit $?"`.
fn shell(command: &str, folder: &Path) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.display()))
        .stdin(Stdio::null())
        .output()
        .expect("run a shell");
    let code = output.status;
    let text = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
    assert!(code.success(), "$ {command}\n{code}\n{text}");
    text
}

#[test]
fn every_command_of_the_readme_prints_what_it_says() {
    let service = Service::start_unconfigured();
    let folder = fresh_folder();
    for block in blocks("yaml").iter().filter(|block| block.text.starts_with("# limits.yaml")) {
        std::fs::write(folder.join("limits.yaml"), &block.text).expect("write it");
    }
    let log = root().join("crates/tidegate-server/tests/data/access.log");
    std::fs::copy(log, folder.join("access.log")).expect("copy the log");
    for (command, shown) in blocks("console").iter().flat_map(commands) {
        let printed = shell(&with_ports(&command, &service), &folder);
        let mut lines = printed.lines();
        for shown in shown {
            let found = lines.any(|line| is_as_shown(line, &shown));
            assert!(found, "$ {command}\nshould print\n{shown}\nbut printed\n{printed}");
        }
    }
    std::fs::remove_dir_all(folder).expect("clean up");
}

#[test]
fn every_configuration_of_the_readme_is_good() {
    let folder = fresh_folder();
    for block in blocks("yaml") {
        std::fs::write(folder.join("limits.yaml"), &block.text).expect("write it");
        let printed = shell("REDIS_PASSWORD=x tidegate check limits.yaml", &folder);
        assert!(printed.starts_with("limits.yaml: good\n"), "{printed}\n{}", block.text);
    }
    std::fs::remove_dir_all(folder).expect("clean up");
}

#[test]
fn the_python_of_the_readme_runs() {
    let service = Service::start_unconfigured();
    let (folder, root) = (fresh_folder(), root());
    let python = root.join(".cache/python-grpc/bin/python");
    let generate = format!(
        "{} -m grpc_tools.protoc -I{} --python_out=. --grpc_python_out=. ratelimiter/v1/ratelimiter.proto",
        python.display(),
        root.join("proto").display()
    );
    let said = shell(&generate, &folder);
    for block in blocks("python") {
        std::fs::write(folder.join("ask.py"), with_ports(&block.text, &service)).expect("write it");
        let printed = shell(&format!("{} ask.py && echo done", python.display()), &folder);
        assert_eq!(printed, "done\n", "{said}");
    }
    std::fs::remove_dir_all(folder).expect("clean up");
}
