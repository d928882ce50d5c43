//! The `tidegate` command.

use std::process::ExitCode;

use tidegate_server::{cli, config::Environment};

// Many small states come and go: an allocator made for that gives memory back and keeps its pace.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(std::env::args_os(), Environment::of_process())
}
