//! Tidegate's memory store against its peers in one process: one table of numbers per command.
//!
//! `cargo run --release -p inproc -- TABLE [--runs N] [--seconds S] [--processor-time]` prints one table as Markdown.
//! Every figure is the median of the runs; peers and product take turns within each run.

use std::process::ExitCode;

use inproc::settings::Settings;
use inproc::table;

fn main() -> ExitCode {
    let settings = match Settings::parse(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(reason) => {
            eprintln!("{reason}\n\n{}", table::usage());
            return ExitCode::from(2);
        }
    };
    match table::run(&settings) {
        true => ExitCode::SUCCESS,
        false => {
            eprintln!("no table `{}`\n\n{}", settings.table, table::usage());
            ExitCode::from(2)
        }
    }
}
