//! The word to stop, and who hears it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Gives the word to stop.
#[derive(Debug)]
pub struct Stopper {
    stopped: watch::Sender<bool>,
    leaving: Arc<AtomicBool>,
}

/// Hears the word to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shutdown {
    stopped: watch::Receiver<bool>,
    /// Beside the channel because every answer looks at it, and a channel has a lock.
    leaving: Arc<AtomicBool>,
}

/// A stopper, and what hears it.
#[must_use]
pub fn channel() -> (Stopper, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    let leaving = Arc::new(AtomicBool::new(false));
    let stopper = Stopper { stopped: sender, leaving: Arc::clone(&leaving) };
    (stopper, Shutdown { stopped: receiver, leaving })
}

impl Stopper {
    /// Says that the word will be given: whoever can go elsewhere should.
    pub fn leave(&self) {
        // Relaxed: it orders nothing, and an answer that just misses it is no harm.
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Gives the word. Dropping the stopper does the same.
    pub fn stop(&self) {
        self.leave();
        self.stopped.send_replace(true);
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shutdown {
    /// Waits for the word.
    pub async fn wait(&mut self) {
        // An error means that the stopper is gone, which is the word too.
        let _ = self.stopped.wait_for(|stopped| *stopped).await;
    }

    /// Whether the word was given or soon will be.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }
}

/// The signals that ask the process to stop: SIGINT and SIGTERM.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Begins to listen for them, so that none is missed between two of them.
    ///
    /// # Errors
    ///
    /// When the process may not handle signals.
    pub(crate) fn listen() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one, and says which it was.
    pub(crate) async fn next(&mut self) -> io::Result<&'static str> {
        tokio::select! {
            _ = self.interrupt.recv() => Ok("SIGINT"),
            _ = self.terminate.recv() => Ok("SIGTERM"),
        }
    }
}

/// The signal that asks the process to stop: Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Nothing to prepare.
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals)
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> io::Result<&'static str> {
        tokio::signal::ctrl_c().await.map(|()| "Ctrl-C")
    }
}
