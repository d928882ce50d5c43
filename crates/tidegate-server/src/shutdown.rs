//! The word to stop, and who hears it.

use std::io;

use tokio::sync::watch;

/// Gives the word to stop.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Hears the word to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

/// A stopper, and what hears it.
#[must_use]
pub fn channel() -> (Stopper, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Shutdown(receiver))
}

impl Stopper {
    /// Gives the word. Dropping the stopper does the same.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Waits for the word.
    pub async fn wait(&mut self) {
        // An error means that the stopper is gone, which is the word too.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}

/// Waits for SIGINT or SIGTERM, and says which.
///
/// # Errors
///
/// When the process may not handle signals.
#[cfg(unix)]
pub async fn signal() -> io::Result<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => Ok("SIGINT"),
        _ = terminate.recv() => Ok("SIGTERM"),
    }
}

/// Waits for Ctrl-C.
///
/// # Errors
///
/// When the process may not handle it.
#[cfg(not(unix))]
pub async fn signal() -> io::Result<&'static str> {
    tokio::signal::ctrl_c().await.map(|()| "Ctrl-C")
}
