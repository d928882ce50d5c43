//! `tidegate replay`: what would these limits have done to this traffic?
//!
//! Logs become lines (`input`), lines become fields (`format`, and one file per format), fields
//! become records of time, key and cost (`entry`, `read`), records are sorted (`record`), played
//! through a memory store whose clock is the log's (`play`), and told (`report`).

mod args;
mod combined;
mod csv;
mod entry;
mod error;
mod format;
mod input;
mod json;
mod limits;
mod names;
mod play;
mod progress;
mod read;
mod record;
mod report;
mod scratch;
mod time;

use std::io::{self, Write};
use std::process::ExitCode;

use tidegate::PolicyTable;

use crate::config::{Environment, load, rounded_rates};
use crate::settings::Settings;

pub use args::{Format, ReplayArgs};
pub use error::{LimitFault, ReplayError};
pub use report::{Counted, Example, KeyReport, LimitReport, Minute, Report};

use format::Question;
use play::Player;
use progress::Progress;

/// Plays logs through the limits that the arguments choose, and tells what would have passed.
///
/// The policies are those of the configuration; limits in the arguments come before them. Memory
/// is bounded whatever the size of the logs: what is too much goes to temporary files.
///
/// # Errors
///
/// [`ReplayError`] when a log cannot be read, no line can be played, or the arguments name a
/// field, a policy or a limit that is none. Single lines that cannot be read are counted in the
/// report instead.
pub fn run(args: &ReplayArgs, policies: &PolicyTable) -> Result<Report, ReplayError> {
    let policy = limits::choose_policy(args, policies)?;
    let progress = Progress::new(&args.logs);
    let question = Question {
        format: args.format,
        time: args.time.clone(),
        key: args.key.clone(),
        cost: args.cost.clone(),
    };
    let traffic = read::read_logs(&args.logs, &question, &progress)?;
    progress.start_playing(traffic.summary.played);
    let mut player = Player::new(policy.clone(), args.top);
    let mut requests = traffic.requests.finish().map_err(ReplayError::scratch)?;
    while let Some(request) = requests.next().map_err(ReplayError::scratch)? {
        player.play(request);
        progress.played(1);
    }
    let tally = player.finish();
    let names = tally.most_denied.iter().map(|key| key.hash).collect::<Vec<_>>();
    let names = traffic.names.find(&names).map_err(ReplayError::scratch)?;
    Ok(Report::new(args, &policy, traffic.summary, &tally, &names))
}

/// `tidegate replay`: the report goes to standard output, what went wrong to standard error.
///
/// The configuration is read only when the arguments give no limits of their own.
pub(super) fn command(args: &ReplayArgs, environment: Environment) -> ExitCode {
    let policies = match args.limits.is_empty() {
        true => load(&args.inputs(environment)).map(told),
        false => Ok(PolicyTable::default()),
    };
    let (text, code) = match policies.map(|policies| run_and_print(args, &policies)) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => (format!("error: {error}\n"), error.exit_code()),
        Err(errors) => (errors.to_string(), super::USAGE),
    };
    // Nothing is left to do when the terminal is gone.
    let _ = io::stderr().write_all(text.as_bytes());
    ExitCode::from(code)
}

/// The policies, once the rates that are not quite those of the configuration have been told.
fn told(settings: Settings) -> PolicyTable {
    for note in rounded_rates(&settings.notes) {
        // Nothing is left to do when the terminal is gone.
        let _ = writeln!(io::stderr(), "note: {note}");
    }
    settings.policies
}

/// Plays logs and prints the report on standard output.
///
/// # Errors
///
/// As for [`run`], and when standard output cannot be written to; a reader that has seen enough
/// and closed the pipe is no error.
pub fn run_and_print(args: &ReplayArgs, policies: &PolicyTable) -> Result<(), ReplayError> {
    let report = run(args, policies)?;
    let mut out = io::stdout().lock();
    let written = match args.json {
        true => report.write_json(&mut out),
        false => report.write_text(&mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(ReplayError::Write(error)),
        _ => Ok(()),
    }
}
