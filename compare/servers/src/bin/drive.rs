//! Drives a `ratelimiter.v1` service and prints `decisions seconds`.
//!
//! `drive URL unary|stream|check [--connections 8] [--at-once 8] [--keys 100000] [--seconds 5]
//! [--policy NAME]`; `--seconds 0` asks once for each key.

use std::process::ExitCode;
use std::time::Duration;

use servers::load::{Call, Load, Until};

const USAGE: &str = "drive URL unary|stream|check [--connections 8] [--at-once 8] [--keys 100000] \
                     [--seconds 5] [--policy NAME]   (--seconds 0: once for each key)";

/// What the command line asks for.
struct Settings {
    url: String,
    call: Call,
    connections: usize,
    at_once: usize,
    keys: usize,
    seconds: u64,
    policy: String,
}

fn parse(mut args: impl Iterator<Item = String>) -> Option<Settings> {
    let url = args.next()?;
    let call = match args.next()?.as_str() {
        "unary" => Call::Unary,
        "stream" => Call::Stream,
        "check" => Call::Check,
        _ => return None,
    };
    let mut settings = Settings {
        url,
        call,
        connections: 8,
        at_once: 8,
        keys: 100_000,
        seconds: 5,
        policy: String::new(),
    };
    while let Some(flag) = args.next() {
        let value = args.next()?;
        match flag.as_str() {
            "--connections" => settings.connections = value.parse().ok()?,
            "--at-once" => settings.at_once = value.parse().ok()?,
            "--keys" => settings.keys = value.parse().ok().filter(|keys| *keys > 0)?,
            "--seconds" => settings.seconds = value.parse().ok()?,
            "--policy" => settings.policy = value,
            _ => return None,
        }
    }
    Some(settings)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(settings) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let until = match settings.seconds {
        0 => Until::Visited,
        seconds => Until::Passed(Duration::from_secs(seconds)),
    };
    let load = Load::new(settings.keys, until, settings.policy.clone());
    let connections = (0..settings.connections).map(|_| {
        let (load, url) = (load.clone(), settings.url.clone());
        tokio::spawn(load.run(url, settings.call, settings.at_once))
    });
    for connection in connections.collect::<Vec<_>>() {
        if let Ok(Err(status)) = connection.await {
            eprintln!("{}: {}", settings.url, status.message());
            return ExitCode::FAILURE;
        }
    }
    println!("{} {:.3}", load.answered(), load.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}
