//! The environment variables that a configuration may be read with.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use super::error::ConfigError;
use super::keys;
use super::overrides::Override;

/// What variables of ours begin with.
const PREFIX: &str = "TIDEGATE_";
/// Names the file to read.
pub(super) const FILE: &str = "TIDEGATE_CONFIG";
/// Variables of ours that are no field: the file to read, and how much to log.
const OTHERS: [&str; 2] = [FILE, "TIDEGATE_LOG"];
/// The original's name for `TIDEGATE_STORE`.
const STORE_BACKEND: &str = "STORE_BACKEND";

/// Environment variables by name.
///
/// A value of its own, so that a configuration can be read as if in any environment. A variable set
/// to nothing counts as not set.
///
/// # Examples
///
/// ```
/// use tidegate_server::config::Environment;
///
/// let environment = Environment::from_iter([("TIDEGATE_LISTEN__HTTP", "[::]:80")]);
/// # let _ = environment;
/// ```
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// The environment of this process. Variables whose names are not UTF-8 are left out.
    #[must_use]
    pub fn of_process() -> Environment {
        let named = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        std::env::vars_os().filter_map(named).collect()
    }

    /// The text of a variable; nothing when it is not set, set to nothing, or not UTF-8.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?.to_str()?;
        (!value.is_empty()).then_some(value)
    }

    /// The value of a variable, in the system's own form.
    pub(super) fn value(&self, name: &str) -> Option<&OsString> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// What variables say about fields, or the first that says nothing sensible.
    pub(super) fn overrides(&self) -> Result<Vec<Override<'_>>, ConfigError> {
        let mut found = Vec::new();
        // The original's name comes first: ours outranks it.
        if self.value(STORE_BACKEND).is_some() {
            found.push(self.set("store", STORE_BACKEND)?);
        }
        for (name, value) in &self.variables {
            let is_other = !name.starts_with(PREFIX) || OTHERS.contains(&&**name);
            if is_other || value.is_empty() {
                continue;
            }
            match keys::PATHS.iter().find(|path| variable(path) == *name) {
                Some(path) => found.push(self.set(path, name)?),
                None if is_kubernetes(name, value) => {}
                None => return Err(unknown(name)),
            }
        }
        Ok(found)
    }

    fn set<'e>(&'e self, path: &'e str, name: &'e str) -> Result<Override<'e>, ConfigError> {
        let text = self.text(name).ok_or_else(|| ConfigError {
            place: name.to_owned(),
            reason: "its value is not UTF-8".into(),
            excerpt: None,
            help: None,
        })?;
        Ok(Override::variable(path, name, text))
    }
}

impl<N: Into<String>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        let owned = |(name, value): (N, V)| (name.into(), value.into());
        Environment { variables: variables.into_iter().map(owned).collect() }
    }
}

/// Shows names alone: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// The variable that sets the field at this path.
fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_uppercase().replace('.', "__"))
}

/// Whether Kubernetes set this variable: for a service named `tidegate` it puts
/// `TIDEGATE_SERVICE_HOST`, `TIDEGATE_PORT=tcp://10.0.0.1:80`, `TIDEGATE_PORT_80_TCP_ADDR` and the
/// like into every container.
fn is_kubernetes(name: &str, value: &OsStr) -> bool {
    let is_url = value.to_string_lossy().contains("://");
    let starts_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_service = name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT");
    let is_port = name.split("_PORT_").nth(1).is_some_and(starts_with_digit);
    (is_service || is_port || (name.ends_with("_PORT") && is_url)) && !name.contains("__")
}

fn unknown(name: &str) -> ConfigError {
    // Compared without the prefix, which would make all of them look alike.
    let known: Vec<String> = keys::PATHS.iter().map(|path| variable(path)).collect();
    let known = known.iter().map(String::as_str).chain(OTHERS);
    let known = known.filter_map(|known| known.strip_prefix(PREFIX));
    let word = name.strip_prefix(PREFIX).unwrap_or(name);
    let help = match keys::nearest(word, known.collect::<Vec<_>>()) {
        Some(known) => format!("did you mean {PREFIX}{known}?"),
        None => "a field's path in capitals with __ between its parts, as in \
                 TIDEGATE_LISTEN__HTTP; policies are set in a file"
            .to_owned(),
    };
    ConfigError {
        place: name.to_owned(),
        reason: "unknown variable".into(),
        excerpt: None,
        help: Some(help),
    }
}
