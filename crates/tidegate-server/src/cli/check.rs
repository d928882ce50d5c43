//! `tidegate check`: the verdict that serving would give, and the policies in plain words.

use std::io::Write;
use std::process::ExitCode;

use super::USAGE;
use super::args::CheckArgs;
use crate::config::{Environment, load};
use crate::explain;

/// Validates the configuration: what it means goes to standard output, faults to standard error.
pub(super) fn run(args: &CheckArgs, environment: Environment) -> ExitCode {
    let inputs = args.config.inputs(args.file.as_ref(), environment);
    match load(&inputs) {
        Ok(settings) => {
            let text = format!("{}: good\n\n{}", settings.source, explain::settings(&settings));
            // A reader that has gone away does not change the verdict.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(errors) => {
            let _ = std::io::stderr().write_all(errors.to_string().as_bytes());
            ExitCode::from(USAGE)
        }
    }
}
