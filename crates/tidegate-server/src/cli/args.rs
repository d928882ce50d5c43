//! What the command line says.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::{Environment, Inputs, Override};

/// Examples for `--help`.
const EXAMPLES: &str = "\
Examples:
  tidegate                                 serve; ./config.yaml if it is there, else in memory,
                                           10 requests at once and then 1 per second
  tidegate --config limits.yaml            serve by this file
  tidegate --store redis --redis-addr redis:6379
  tidegate check limits.yaml               validate a file and say in words what it limits
  tidegate replay access.log --limit '100/minute'
                                           what would this limit have denied?
  curl -i -X POST -H 'X-Client-Key: alice' http://localhost:8080/limit

Every field of the file but its policies can also be set by a variable, as in
TIDEGATE_LISTEN__HTTP='[::]:80'. TIDEGATE_LOG=debug says more in the log.
A flag outranks a variable, which outranks the file. Exit codes: 0; 1 failed while running;
2 wrong usage or configuration.";

/// Examples for `serve --help`.
const SERVE_EXAMPLES: &str = "\
Examples:
  tidegate serve                           by ./config.yaml if it is there, else by the defaults
  tidegate serve --config limits.yaml --listen-http 127.0.0.1:8080 --listen-metrics off
  TIDEGATE_DRAIN_DELAY=5s tidegate serve --store redis --redis-addr redis://redis:6379/0

Exit codes: 0 stopped when told to, 1 failed while running, 2 wrong usage or configuration.";

/// Examples for `check --help`.
const CHECK_EXAMPLES: &str = "\
Examples:
  tidegate check limits.yaml               is this file good, and what does it limit?
  tidegate check                           the same of what `tidegate serve` would read here
  TIDEGATE_STORE=redis tidegate check limits.yaml --redis-addr redis:6379

Exit codes: 0 the configuration is good, 2 it is not, or wrong usage.";

/// A rate limiter that any language, proxy or Redis client can ask.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, about, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do; without it, serve.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The configuration to serve by.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve until told to stop (the same as no command)
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ConfigArgs),
    /// Validate a configuration and say in plain words what it limits
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Say what limits would have done to the traffic of access logs
    Replay(super::replay::ReplayArgs),
}

/// Arguments of `tidegate check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The file to check; without it the one that serving would read
    #[arg(value_name = "FILE", conflicts_with = "config")]
    pub file: Option<PathBuf>,
    /// The flags that serving would be given.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// The file to read and what outranks it.
#[derive(Debug, Default, Args)]
pub struct ConfigArgs {
    /// The configuration file [default: TIDEGATE_CONFIG, else ./config.yaml if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where REST listens: host:port or :port [default: :8080]
    #[arg(long, value_name = "ADDRESS")]
    pub listen_http: Option<String>,
    /// Where gRPC listens [default: :8081]
    #[arg(long, value_name = "ADDRESS")]
    pub listen_grpc: Option<String>,
    /// Where metrics are served, or off [default: :9091]
    #[arg(long, value_name = "ADDRESS")]
    pub listen_metrics: Option<String>,
    /// Where state is kept: in_memory or redis [default: in_memory]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// The most keys held in memory [default: 10000000]
    #[arg(long, value_name = "COUNT")]
    pub max_keys: Option<String>,
    /// Where Redis is: host:port, redis://host:port/db or unix:/path [default: 127.0.0.1:6379]
    #[arg(long, value_name = "ADDRESS")]
    pub redis_addr: Option<String>,
    /// What is answered when the store cannot: deny or allow [default: deny]
    #[arg(long, value_name = "STANCE")]
    pub on_store_error: Option<String>,
    /// How long to go on accepting after the signal to stop [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub drain_delay: Option<String>,
}

impl ConfigArgs {
    /// Where to read the configuration from: `file` if there is one, else what `--config` names.
    #[must_use]
    pub fn inputs(&self, file: Option<&PathBuf>, environment: Environment) -> Inputs<'_> {
        Inputs {
            file: file.or(self.config.as_ref()).cloned(),
            directory: PathBuf::new(),
            environment,
            flags: self.overrides(),
        }
    }

    /// The fields that flags set.
    fn overrides(&self) -> Vec<Override<'_>> {
        let flags = [
            ("listen.http", "--listen-http", &self.listen_http),
            ("listen.grpc", "--listen-grpc", &self.listen_grpc),
            ("metrics.listen", "--listen-metrics", &self.listen_metrics),
            ("store", "--store", &self.store),
            ("backends.in_memory.max_keys", "--max-keys", &self.max_keys),
            ("backends.redis.addr", "--redis-addr", &self.redis_addr),
            ("on_store_error", "--on-store-error", &self.on_store_error),
            ("drain_delay", "--drain-delay", &self.drain_delay),
        ];
        let given = |(path, name, text)| {
            let text: &Option<String> = text;
            Some(Override::flag(path, name, text.as_deref()?))
        };
        flags.into_iter().filter_map(given).collect()
    }
}
