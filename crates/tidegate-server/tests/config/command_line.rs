//! The command itself: what it prints, and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use crate::Folder;

/// Runs `tidegate` in a folder, in an environment without anything of ours.
fn tidegate(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.current_dir(folder).args(arguments).env_clear();
    command.envs(environment.iter().copied());
    command.output().expect("it runs")
}

/// Exit code, standard output, standard error.
fn outcome(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn check_says_in_plain_words_what_a_file_limits() {
    let folder = Folder::new();
    folder.write(
        "limits.yaml",
        "policies:\n  default:\n    limits:\n      - { name: burst, capacity: 10, rate: 0.1 }\n      \
         - { name: daily, algorithm: fixed_window, max_requests: 10000, window_size: 1d }\n",
    );
    let checked = tidegate(folder.path(), &["check", "limits.yaml"], &[]);
    let expected = "\
limits.yaml: good

policy default
  burst  10 at once, then 1 every 10 s
  daily  at most 10000 per UTC day

store     in memory, 10000000 keys, beyond that new keys share counts
http      [::]:8080
grpc      [::]:8081
metrics   [::]:9091
headers   RateLimit, RateLimit-Policy
";
    assert_eq!(outcome(&checked), (Some(0), expected.into(), String::new()));
}

/// P60: check and start give the same verdict, with exit code 2.
#[test]
fn a_bad_file_is_refused_by_check_and_at_start_alike() {
    let folder = Folder::new();
    for (name, text) in [
        ("syntax.yaml", "store: [redis"),
        ("empty.yaml", ""),
        ("twice.yaml", "store: redis\nstore: redis\n"),
        ("field.yaml", "algo_settings: { capacity: 1, rate: 1, burts: 1 }"),
        ("unit.yaml", "algo_settings: { rate: 1/parsec }"),
        ("negative.yaml", "algo_settings: { capacity: -1, rate: 1 }"),
        ("text.yaml", "algo_settings: { capacity: \"1\", rate: 1 }"),
        (
            "rule.yaml",
            "policies: { a: { limits: [{ name: b, rate: 1/s }, { name: b, rate: 2/s }] } }",
        ),
        ("ten_megabytes.yaml", &format!("{}burts: 1\n", "# padding\n".repeat(1 << 20))),
    ] {
        folder.write(name, text);
        let checked = outcome(&tidegate(folder.path(), &["check", name], &[]));
        let started = outcome(&tidegate(folder.path(), &["--config", name], &[]));
        let served = outcome(&tidegate(folder.path(), &["serve", "--config", name], &[]));
        assert_eq!(checked.0, Some(2), "{name}");
        assert!(checked.2.starts_with(&format!("{name}:")), "{}", checked.2);
        assert_eq!(checked, started);
        assert_eq!(checked, served);
    }
    let missing = outcome(&tidegate(folder.path(), &["check", "none.yaml"], &[]));
    let started = outcome(&tidegate(folder.path(), &["--config", "none.yaml"], &[]));
    assert_eq!(missing.0, Some(2));
    assert!(missing.2.starts_with("none.yaml: cannot be read: No such file"));
    assert_eq!(missing, started);
}

#[test]
fn check_without_a_file_reads_what_serving_would_read() {
    let folder = Folder::new();
    let defaults = outcome(&tidegate(folder.path(), &["check"], &[]));
    assert!(defaults.1.starts_with("built-in defaults: good\n"));
    assert!(defaults.1.contains("10 at once, then 1 per second"));
    folder.write("config.yaml", "listen: { http: :1 }");
    let there = outcome(&tidegate(folder.path(), &["check"], &[]));
    assert!(there.1.starts_with("config.yaml: good\n"), "{}", there.1);
    let flag = outcome(&tidegate(folder.path(), &["check", "--listen-http", ":2"], &[]));
    assert!(flag.1.contains("http      [::]:2\n"), "{}", flag.1);
    let variable = [("TIDEGATE_LISTEN__HTTP", "nowhere")];
    let refused = outcome(&tidegate(folder.path(), &["check"], &variable));
    assert_eq!(refused.0, Some(2));
    assert!(refused.2.starts_with("TIDEGATE_LISTEN__HTTP: "));
}

#[test]
fn help_has_examples_and_wrong_usage_is_exit_code_2() {
    let folder = Folder::new();
    let (code, help, _) = outcome(&tidegate(folder.path(), &["--help"], &[]));
    assert_eq!(code, Some(0));
    assert!(help.contains("Examples:\n  tidegate "), "{help}");
    assert!(help.contains("tidegate check limits.yaml"), "{help}");
    for command in ["check", "serve", "replay"] {
        let (code, help, _) = outcome(&tidegate(folder.path(), &[command, "--help"], &[]));
        let examples = help.split_once("Examples:\n").expect(command).1;
        assert_eq!(code, Some(0), "{command}");
        assert!(examples.contains(&format!("tidegate {command}")), "{help}");
    }
    let (code, _, error) = outcome(&tidegate(folder.path(), &["--lisen-http", ":1"], &[]));
    assert_eq!(code, Some(2));
    assert!(error.contains("--listen-http"), "{error}");
    let (code, _, error) = outcome(&tidegate(folder.path(), &["chek"], &[]));
    assert_eq!(code, Some(2));
    assert!(error.contains("check"), "{error}");
}
