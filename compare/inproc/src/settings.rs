//! What the command line asks for.

use std::time::Duration;

/// Which table, and how long to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The table's name; `all` for every one.
    pub table: String,
    /// How many times each figure is measured; the median is reported.
    pub runs: usize,
    /// The least time of one measurement.
    pub at_least: Duration,
    /// What counts as time.
    pub time: Time,
}

/// What counts as time in a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// The time that passes.
    #[default]
    Wall,
    /// The time that the measuring thread has a processor: for a machine that others use too. Waits
    /// for a lock do not count, so with more than one thread it flatters.
    Processor,
}

impl Settings {
    /// Reads `TABLE [--runs N] [--seconds S] [--processor-time]`.
    ///
    /// # Errors
    ///
    /// A sentence that says which argument is wrong.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Settings, String> {
        let mut settings = Settings {
            table: "all".into(),
            runs: 3,
            at_least: Duration::from_millis(500),
            time: Time::Wall,
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--runs" => settings.runs = number(&arg, args.next())?,
                "--processor-time" => settings.time = Time::Processor,
                "--seconds" => {
                    settings.at_least = Duration::try_from_secs_f64(number(&arg, args.next())?)
                        .map_err(|error| format!("{arg}: {error}"))?;
                }
                flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}")),
                table => settings.table = table.into(),
            }
        }
        settings.runs = settings.runs.max(1);
        Ok(settings)
    }
}

fn number<N: std::str::FromStr>(flag: &str, value: Option<String>) -> Result<N, String> {
    let value = value.ok_or_else(|| format!("{flag} wants a number"))?;
    value
        .parse()
        .map_err(|_| format!("{flag} wants a number, not `{value}`"))
}
