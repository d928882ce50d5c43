//! The `tidegate` command.

mod allocator;

use std::process::ExitCode;

use allocator::Allocator;
use tidegate_server::{cli, config::Environment};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    cli::run(std::env::args_os(), Environment::of_process())
}
