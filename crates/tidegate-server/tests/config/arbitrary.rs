//! Whatever a file holds, reading it ends in settings or in an error that says where.

use proptest::prelude::*;
use proptest::sample::Index;
use tidegate_server::config::{Environment, Inputs, load, read};
use tidegate_server::explain;

use crate::Folder;

/// Valid files to spoil.
const FILES: [&str; 3] = [
    include_str!("../../../../tidegate.example.yaml"),
    "store: \"redis\"\nuse_algo: \"token_bucket\"\nmetrics: { use_prometheus: true, port: 9091 }\n\
     algo_settings: { capacity: 10, rate: 0.1, window_size: 1d, max_requests: 5 }\nbackends:\n  \
     in_memory: { shards_count: 256 }\n  redis: { addr: \"redis://u:p@h:1/0\", timeout: 5ms }\n",
    "policies:\n  a: &x\n    limits:\n      - { name: b, algorithm: fixed_window, max_requests: 5, \
     window_size: 1h, align: first_request }\n      - name: c\n        quota: 10/7s burst 20\n  \
     d: *x\n",
];

/// Pieces that mean something in YAML or here.
const PIECES: [&str; 40] = [
    "\n",
    " ",
    "  ",
    "\t",
    ":",
    ": ",
    "-",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "'",
    "#",
    "&x ",
    "*x",
    "!t ",
    "|",
    ">",
    "%",
    "---\n",
    "...",
    "~",
    "<<: ",
    "\u{feff}",
    "\u{0}",
    "é",
    "\u{1F980}",
    "-1",
    "0",
    ".inf",
    "1e999",
    "99999999999999999999",
    "10/s",
    "1d",
    "limits",
    "name",
    "@",
];

/// Reads a text and holds what must hold of the outcome.
fn read_anything(text: &str) -> Result<(), TestCaseError> {
    match read("limits.yaml", text, &Environment::default(), &[]) {
        Ok(settings) => {
            prop_assert!(explain::settings(&settings).contains("policy "));
            prop_assert!(settings.policies.iter().next().is_some());
        }
        Err(errors) => {
            let shown = errors.to_string();
            prop_assert!(shown.starts_with("limits.yaml:"), "{}", shown);
            prop_assert!(errors.count() > 0);
            let mut place = shown["limits.yaml:".len()..].splitn(3, ':');
            let mut number = || place.next().and_then(|part| part.parse::<usize>().ok());
            let (line, column) = (number(), number());
            let lines = text.matches('\n').count() + 1;
            prop_assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{}", shown);
            prop_assert!(column.is_some_and(|column| column > 0), "{}", shown);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// P60: arbitrary text never panics, and errors have a place.
    #[test]
    fn any_text_is_read_or_refused_with_a_place(text in "\\PC{0,200}") {
        read_anything(&text)?;
    }

    #[test]
    fn any_pieces_are_read_or_refused_with_a_place(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60),
    ) {
        read_anything(&pieces.concat())?;
    }

    /// P60: a valid file with a piece put in, taken out or put elsewhere.
    #[test]
    fn a_spoilt_file_is_read_or_refused_with_a_place(
        file in prop::sample::select(&FILES[..]),
        edits in prop::collection::vec((any::<Index>(), 0..12usize, any::<Index>()), 1..4),
    ) {
        let mut text: Vec<char> = file.chars().collect();
        for (at, removed, piece) in edits {
            let start = at.index(text.len() + 1);
            let end = (start + removed).min(text.len());
            let piece = PIECES[piece.index(PIECES.len())];
            text.splice(start..end, piece.chars());
        }
        read_anything(&text.into_iter().collect::<String>())?;
    }

    #[test]
    fn any_bytes_in_a_file_are_read_or_refused_with_its_name(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let folder = Folder::new();
        let file = folder.write("limits.yaml", bytes);
        let name = file.display().to_string();
        let inputs = Inputs { file: Some(file), ..Inputs::default() };
        if let Err(errors) = load(&inputs) {
            prop_assert!(errors.to_string().starts_with(&format!("{name}:")), "{}", errors);
        }
    }
}
