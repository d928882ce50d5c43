//! The scripts, and how one is called.

use redis::{Cmd, ErrorKind, RedisResult, ServerErrorKind, Value};
use sha1_smol::Sha1;

use crate::link::Link;

/// A script's text: its own file after all that scripts share.
macro_rules! script {
    ($file:literal) => {
        Script::new(concat!(
            include_str!("scripts/prelude.lua"),
            include_str!("scripts/token_bucket.lua"),
            include_str!("scripts/fixed_window.lua"),
            include_str!("scripts/rolling_window.lua"),
            include_str!("scripts/sliding_window.lua"),
            include_str!("scripts/min_interval.lua"),
            include_str!("scripts/request.lua"),
            include_str!($file),
        ))
    };
}

/// The scripts of a store.
#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) take: Script,
    pub(crate) refund: Script,
    pub(crate) reset: Script,
}

impl Scripts {
    pub(crate) fn new() -> Scripts {
        Scripts {
            take: script!("scripts/take.lua"),
            refund: script!("scripts/refund.lua"),
            reset: script!("scripts/reset.lua"),
        }
    }
}

/// A script's text, and the hash by which a server that has seen it knows it.
#[derive(Debug)]
pub(crate) struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    fn new(text: &'static str) -> Script {
        let hash = Sha1::from(text).digest().to_string();
        Script { text, hash }
    }
}

/// The keys and arguments of one call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) keys: Vec<String>,
    pub(crate) args: Vec<String>,
}

impl Call {
    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        command.arg(&self.keys).arg(&self.args);
        command
    }
}

/// Calls a script by its hash; a server that does not know it (it restarted, or its scripts were
/// flushed) is sent the text, in the same breath.
///
/// NOSCRIPT means that nothing ran, so this counts nothing twice. It is the only retry there is.
pub(crate) async fn run(link: &Link, script: &Script, call: &Call) -> RedisResult<Value> {
    let reply = link.query(&call.command("EVALSHA", &script.hash)).await;
    match reply {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            link.query(&call.command("EVAL", script.text)).await
        }
        reply => reply,
    }
}
