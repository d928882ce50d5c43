//! Reading a configuration: a file, the environment and flags become [`Settings`].
//!
//! The text becomes a tree of nodes that know where they were written (`document`); variables and
//! flags are put over it (`overrides`); one reader walks the tree, field by field, and notes every
//! fault where it stands (`reader`, and a file for each section). Nothing is guessed: an unknown field
//! is an error, and so is a number that cannot be counted exactly.

mod backends;
mod document;
mod environment;
mod error;
mod excerpt;
mod file;
mod keys;
mod limit;
mod listen;
mod mask;
mod overrides;
mod policies;
mod quota_limit;
mod rate;
mod reader;
mod redis_address;
mod scalar;
mod secret;

use std::path::PathBuf;
use std::rc::Rc;

use tidegate::{Algorithm, Limit, PolicyTable, Span};

use self::document::{Fault, Node, Origin};
pub use self::environment::Environment;
use self::error::ConfigError;
pub use self::error::ConfigErrors;
use self::excerpt::{Excerpt, position};
use self::file::Source;
pub use self::overrides::Override;
pub(crate) use self::quota_limit::{Kind, QuotaFault};
pub(crate) use self::rate::rounded_rates;
use self::reader::{Fields, Reader};
use crate::constants::MAX_DRAIN;
use crate::settings::{HeaderDialect, Settings, Stance};

/// What the defaults are called.
const BUILT_IN: &str = "built-in defaults";

/// Where a configuration is to be read from.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    /// The file that was named on the command line, if one was.
    pub file: Option<PathBuf>,
    /// The directory in which `config.yaml` is looked for when no file is named; empty for the
    /// current one.
    pub directory: PathBuf,
    /// The environment.
    pub environment: Environment,
    /// Fields set by flags.
    pub flags: Vec<Override<'a>>,
}

/// Reads a configuration.
///
/// The file is the one that was named, else the one that `TIDEGATE_CONFIG` names, else `config.yaml`
/// if there is one; without a file the defaults hold. Flags outrank the environment, which outranks
/// the file.
///
/// # Errors
///
/// [`ConfigErrors`] with every fault that was found.
///
/// # Examples
///
/// ```
/// use tidegate_server::config::{Environment, Inputs, Override, load};
///
/// let settings = load(&Inputs {
///     directory: "no-such-directory".into(),
///     environment: Environment::from_iter([("TIDEGATE_LISTEN__HTTP", "127.0.0.1:80")]),
///     flags: vec![Override::flag("listen.grpc", "--listen-grpc", ":81")],
///     ..Inputs::default()
/// })?;
/// assert_eq!(settings.source, "built-in defaults");
/// assert_eq!(settings.http.to_string(), "127.0.0.1:80");
/// assert_eq!(settings.grpc.to_string(), "[::]:81");
/// # Ok::<(), tidegate_server::config::ConfigErrors>(())
/// ```
pub fn load(inputs: &Inputs<'_>) -> Result<Settings, ConfigErrors> {
    let environment = &inputs.environment;
    match file::find(inputs).map_err(ConfigErrors::one)? {
        Source::File { name, text } => read(&name, &text, environment, &inputs.flags),
        Source::BuiltIn => {
            let root = Rc::new(Node::empty(Origin::Default));
            settings(BUILT_IN, "", root, environment, &inputs.flags)
        }
    }
}

/// Reads a configuration from the text of a file of this name.
///
/// # Errors
///
/// [`ConfigErrors`] with every fault that was found.
///
/// # Examples
///
/// ```
/// use tidegate_server::config::{Environment, read};
///
/// let text = "policies: { api: { limits: [{ name: burst, rate: 5/s, burts: 9 }] } }";
/// let errors = read("limits.yaml", text, &Environment::default(), &[]).expect_err("a slip");
/// assert!(errors.to_string().starts_with("limits.yaml:1:55: unknown field `burts`"));
/// ```
pub fn read(
    name: &str,
    text: &str,
    environment: &Environment,
    flags: &[Override<'_>],
) -> Result<Settings, ConfigErrors> {
    settings(name, text, parse(name, text)?, environment, flags)
}

/// Puts variables and flags over the tree and reads it.
fn settings<'a>(
    name: &'a str,
    text: &'a str,
    mut root: Rc<Node<'a>>,
    environment: &'a Environment,
    flags: &'a [Override<'a>],
) -> Result<Settings, ConfigErrors> {
    let variables = environment.overrides().map_err(ConfigErrors::one)?;
    for value in variables.iter().chain(flags) {
        value.apply(&mut root);
    }
    let mut reader =
        Reader { file: name, text, environment, errors: ConfigErrors::none(), notes: Vec::new() };
    let settings = reader.settings(&root);
    match settings.filter(|_| reader.errors.is_empty()) {
        Some(settings) => Ok(settings),
        None => Err(reader.errors),
    }
}

/// The tree of a file's text.
fn parse<'t>(name: &str, text: &'t str) -> Result<Rc<Node<'t>>, ConfigErrors> {
    let refuse = |fault: Fault| {
        let at = position(text, fault.start);
        ConfigErrors::one(ConfigError {
            place: format!("{name}:{}:{}", at.line, at.column),
            reason: fault.reason,
            excerpt: Some(Excerpt::new(text, fault.start, fault.end)),
            help: fault.help.map(str::to_owned),
        })
    };
    match document::parse(text).map_err(refuse)? {
        Some(root) if !root.is_null() => Ok(root),
        _ => Err(refuse(Fault {
            start: 0,
            end: 0,
            reason: "the file is empty".into(),
            help: Some(
                "start from tidegate.example.yaml, or name no file to run with the defaults",
            ),
        })),
    }
}

impl<'a> Reader<'a> {
    /// Reads everything. Where one section is at fault, the others are read all the same, so that
    /// all faults are told at once.
    fn settings(&mut self, root: &Node<'a>) -> Option<Settings> {
        let top = self.fields(root, "a configuration", keys::TOP)?;
        let ports = self.ports(top);
        let backends = self.backends(top);
        let on_store_error = self.stance(top);
        let ready_requires_store = match top.value("ready_requires_store") {
            Some(node) => self.yes(node, "ready_requires_store"),
            None => Some(false),
        };
        let drain_delay = match top.value("drain_delay") {
            Some(node) => self.drain_delay(node),
            None => Some(Span::ZERO),
        };
        let ratelimit_headers = self.headers(top);
        let policies = self.policies(top);
        let (ports, backends, policies) = (ports?, backends?, policies?);
        self.check_ttl(backends.redis_ttl, &policies);
        Some(Settings {
            source: self.file.to_owned(),
            http: ports.http,
            grpc: ports.grpc,
            metrics: ports.metrics,
            store: backends.store,
            on_store_error: on_store_error?,
            ready_requires_store: ready_requires_store?,
            ratelimit_headers: ratelimit_headers?,
            drain_delay: drain_delay?,
            policies,
            notes: std::mem::take(&mut self.notes),
        })
    }

    fn drain_delay(&mut self, node: &Node<'a>) -> Option<Span> {
        let delay = self.span_or_zero(node, "drain_delay")?;
        if delay > MAX_DRAIN {
            let help = "so long, no request is on its way any more; usual are 5s to 30s";
            self.refuse_with(node, "drain_delay is longer than an hour", help);
            return None;
        }
        Some(delay)
    }

    fn stance(&mut self, top: Fields<'_, 'a>) -> Option<Stance> {
        let Some(node) = top.value("on_store_error") else {
            return Some(Stance::default());
        };
        if node.text() == Some("local") {
            let help = "use deny or allow";
            self.refuse_with(node, "on_store_error: `local` is not supported yet", help);
            return None;
        }
        let words = [("deny", Stance::Deny), ("allow", Stance::Allow)];
        self.choice(node, "on_store_error", &words)
    }

    fn headers(&mut self, top: Fields<'_, 'a>) -> Option<HeaderDialect> {
        let Some(node) = top.value("http") else {
            return Some(HeaderDialect::default());
        };
        let fields = self.fields(node, "http", keys::HTTP)?;
        let Some(node) = fields.value("ratelimit_headers") else {
            return Some(HeaderDialect::default());
        };
        let words = [
            ("draft11", HeaderDialect::Draft11),
            ("legacy", HeaderDialect::Legacy),
            ("both", HeaderDialect::Both),
            ("off", HeaderDialect::Off),
        ];
        self.choice(node, "ratelimit_headers", &words)
    }

    /// Warns when the original's `default_ttl` is shorter than a limit needs: it is not obeyed then.
    fn check_ttl(&mut self, ttl: Option<Span>, policies: &PolicyTable) {
        let Some(ttl) = ttl else {
            return;
        };
        let longest = policies
            .iter()
            .flat_map(|policy| policy.limits())
            .map(|limit| time_to_full(limit.algorithm()).max(spacing(limit)))
            .max();
        if let Some(longest) = longest.filter(|longest| *longest > ttl) {
            self.warn(format!(
                "backends.redis.default_ttl is {ttl}, but a limit needs its state for {longest}; it \
                 is kept that long"
            ));
        }
    }
}

/// The least time between two requests of one key.
fn spacing(limit: &Limit) -> Span {
    limit.min_interval().unwrap_or(Span::ZERO)
}

/// The longest that what was used of a limit matters.
fn time_to_full(algorithm: &Algorithm) -> Span {
    match algorithm {
        // The previous window weighs on the current one.
        Algorithm::SlidingWindow { window, .. } => *window + *window,
        other => other.window(),
    }
}
