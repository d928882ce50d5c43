//! The command line: `tidegate`, `tidegate serve`, `tidegate check`, `tidegate replay`.

pub mod args;
mod check;
pub mod replay;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::args::{Cli, Command, ConfigArgs};
use crate::config::{Environment, load};

/// The exit code for wrong usage and for configurations at fault.
const USAGE: u8 = 2;

/// Runs the command that the arguments name; the first of them is the program's own name.
///
/// The exit code is 0, 1 when the service failed while it ran, or 2 when the arguments or the
/// configuration are at fault.
pub fn run<A>(arguments: impl IntoIterator<Item = A>, environment: Environment) -> ExitCode
where
    A: Into<OsString> + Clone,
{
    match Cli::try_parse_from(arguments) {
        Ok(cli) => match cli.command {
            None => serve(&cli.config, environment),
            Some(Command::Serve(config)) => serve(&config, environment),
            Some(Command::Check(args)) => check::run(&args, environment),
            Some(Command::Replay(args)) => replay::command(&args, environment),
        },
        Err(error) => {
            // Nothing is left to do when the terminal is gone.
            let _ = error.print();
            u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}

/// Reads the configuration and serves by it until the process is told to stop.
fn serve(args: &ConfigArgs, environment: Environment) -> ExitCode {
    match load(&args.inputs(None, environment)) {
        Ok(settings) => match crate::serve::run(&settings) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        Err(errors) => {
            eprint!("{errors}");
            ExitCode::from(USAGE)
        }
    }
}
