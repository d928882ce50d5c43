//! The arguments of `tidegate replay`.

use std::path::PathBuf;

use crate::config::{Environment, Inputs};

/// What to replay, and against which limits.
///
/// Times come from the log, never from the clock: a day of traffic is played in seconds.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplayArgs {
    /// Access logs, plain or gzip; `-` reads standard input.
    ///
    /// Several logs are played together, in order of time.
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,

    /// The configuration file with the policies [default: the one that serving would read].
    #[arg(long, value_name = "FILE", conflicts_with = "limits")]
    pub config: Option<PathBuf>,

    /// The policy of the configuration to play the logs through [default: default].
    #[arg(long, value_name = "NAME", conflicts_with = "limits")]
    pub policy: Option<String>,

    /// A limit to play the logs through instead of a configured policy; may be repeated, and all
    /// must allow.
    ///
    /// Written `[NAME=][ALGORITHM] COUNT/PERIOD [burst N] [min_interval TIME]`. ALGORITHM is
    /// `token_bucket` (the default), `fixed_window`, `rolling_window` or `sliding_window`.
    #[arg(long = "limit", value_name = "LIMIT")]
    pub limits: Vec<String>,

    /// The field that tells clients apart; several, joined by commas, tell them apart together.
    ///
    /// Combined and common logs have ip, ident, user, time, request, method, target (the path with
    /// its query), path, query, protocol, status, bytes, referer and agent. JSON lines have their
    /// own, nested ones joined by dots; CSV has those of its header.
    #[arg(long, value_name = "FIELD[,FIELD..]", default_value = "ip", value_delimiter = ',')]
    pub key: Vec<String>,

    /// The field that holds what a request costs, such as bytes; without it each costs 1.
    #[arg(long, value_name = "FIELD")]
    pub cost: Option<String>,

    /// The field that holds the time, for JSON lines and CSV; the usual names are found.
    ///
    /// Read are RFC 3339, the time of access logs, and seconds, milliseconds, microseconds or
    /// nanoseconds since 1970. A time without an offset is UTC.
    #[arg(long, value_name = "FIELD")]
    pub time: Option<String>,

    /// The format of the logs.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: Format,

    /// How many of the most denied keys to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

impl ReplayArgs {
    /// Where to read the policies from.
    pub(super) fn inputs(&self, environment: Environment) -> Inputs<'_> {
        Inputs { file: self.config.clone(), environment, ..Inputs::default() }
    }
}

/// The format of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Told from the first lines of each log.
    #[default]
    Auto,
    /// Combined or common log format, as Apache and nginx write it.
    Combined,
    /// One JSON object a line.
    Json,
    /// One request a line, fields separated by `,`, `;` or a tab, with a header.
    Csv,
}

const EXAMPLES: &str = "\
Examples:
  What would 100 a minute per address have denied?
    tidegate replay access.log --limit '100/minute burst 20'

  A budget of bytes a day for each user, over all rotated logs:
    tidegate replay access.log access.log.*.gz --key user --cost bytes \\
        --limit 'fixed_window 1e9/day'

  A policy of a configuration, with the answer as JSON:
    tidegate replay access.log --config config.yaml --policy api --json

Exit codes: 0 the logs were played, 1 they could not be, 2 the question was wrong.";
