//! How exact each algorithm is: played in virtual time over four kinds of traffic, beside an exact
//! log of its own, and what each keeps, printed as Markdown.
//!
//! `cargo run --release -p accuracy [DIRECTORY]`; plots go to `../docs/plots`, or to the directory. It
//! starts a `redis-server` of its own on a free port, and stops it.

mod memory;
mod play;
mod plot;
mod redis;
mod traffic;

use std::path::PathBuf;
use std::process::ExitCode;

use tidegate::{Amount, Limit, LimitError, Rate, Span};

use play::Played;
use traffic::Traffic;

/// The limit of every algorithm: so many in so long.
const MAX: u64 = 100;
const WINDOW: Span = Span::from_secs(60);

/// Every algorithm with the same limit.
fn limits() -> Result<Vec<Limit>, LimitError> {
    let max = Amount::from_units(MAX);
    let rate = Rate::per(max, WINDOW).ok_or(LimitError::Window { window: WINDOW })?;
    Ok(vec![
        Limit::token_bucket("token_bucket", max, rate)?,
        Limit::fixed_window("fixed_window", max, WINDOW)?,
        Limit::sliding_window("sliding_window", max, WINDOW)?,
        Limit::rolling_window("rolling_window", max, WINDOW)?,
    ])
}

fn main() -> ExitCode {
    let plots = std::env::args().nth(1).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plots")),
        PathBuf::from,
    );
    match run(&plots) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", plots.display());
            ExitCode::FAILURE
        }
    }
}

fn run(plots: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(plots)?;
    println!("### Accuracy, {MAX} per 60 s: `cargo run --release -p accuracy`\n");
    println!(
        "| traffic | algorithm | offered | admitted | most admitted in any 60 s | decisions as the exact log's |"
    );
    println!("|---|---|---|---|---|---|");
    for traffic in Traffic::ALL {
        let offered = traffic.offered();
        let played: Result<Vec<Played>, _> = limits()?
            .into_iter()
            .map(|limit| play::play(limit, &offered))
            .collect();
        let played = played?;
        for run in &played {
            println!(
                "| {} | {} | {} | {} | {} | {:.2} % |",
                traffic.name(),
                run.name,
                offered.len(),
                run.admitted.len(),
                run.peak,
                run.agreement,
            );
        }
        std::fs::write(
            plots.join(format!("{}.svg", traffic.name())),
            plot::svg(traffic, offered.len(), &played),
        )?;
    }
    println!("\n### Memory of one key after 150 requests of Poisson traffic\n");
    println!("| algorithm | bytes in memory | bytes in Redis (`MEMORY USAGE`) |\n|---|---|---|");
    let redis = redis::Redis::start()?;
    for limit in limits()? {
        let in_redis = redis.bytes_per_key(limit.clone())?;
        println!(
            "| {} | {:.0} | {in_redis} |",
            limit.name(),
            memory::bytes_per_key(limit.clone())?
        );
    }
    Ok(())
}
