//! Walks a hot path of the library, for valgrind to count its instructions: run by
//! `scripts/instructions.sh`, which compares the counts with those in `scripts/instructions.txt`.
//!
//! Given the name of a path it walks that path and prints how often; given none it prints all names.
//! Time is virtual, so that no machine's clock is counted; keys are many, since where they lie depends
//! on a secret that is another at every start.

use std::hint::black_box;
use std::process::ExitCode;

mod paths;
mod subject;

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        paths::ALL.iter().for_each(|path| println!("{}", path.name));
        return ExitCode::SUCCESS;
    };
    let Some(path) = paths::ALL.iter().find(|path| path.name == name) else {
        eprintln!("no path is named {name}; without a name, all are printed");
        return ExitCode::from(2);
    };
    measured(&(path.prepare)());
    println!("{}", paths::WALKS);
    ExitCode::SUCCESS
}

/// What valgrind counts, and nothing else: it looks for this name.
#[inline(never)]
fn measured(walk: &dyn Fn()) {
    walk();
    // Without something to do here it would jump into the walk, and never be seen to return.
    black_box(walk);
}
