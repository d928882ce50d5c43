//! The cores: for each processor a single-threaded runtime on a thread of its own.
//!
//! A connection stays on the core that it was given to: whatever it does wakes no other thread, and
//! what it holds is in no other processor's cache. Connections are given to the core that has
//! fewest. (Listeners that share a port would spare handing them over, but spread them by chance:
//! of two connections both may land on one core.)

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Where connections are served. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cores(Arc<[Core]>);

struct Core {
    runtime: Handle,
    /// How many connections it has, over all ports.
    connections: AtomicUsize,
    /// Its thread ends when this is dropped.
    _end: Option<oneshot::Sender<()>>,
}

impl Cores {
    /// One core: the runtime that this is called in.
    pub(crate) fn here() -> Cores {
        let connections = AtomicUsize::new(0);
        Cores([Core { runtime: Handle::current(), connections, _end: None }].into())
    }

    /// Starts one core for each processor that the process may use.
    ///
    /// # Errors
    ///
    /// When the system gives no thread or no file for one.
    pub(crate) fn start() -> io::Result<Cores> {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let cores: io::Result<Vec<Core>> = (0..count).map(Core::start).collect();
        Ok(Cores(cores?.into()))
    }

    /// A seat on the core that has fewest connections.
    pub(super) fn seat(&self) -> Seat {
        let connections = |place: &usize| self.0[*place].connections.load(Ordering::Relaxed);
        let place = (0..self.0.len()).min_by_key(connections).unwrap_or(0);
        // Relaxed: the count orders nothing, and only ever chooses between cores.
        self.0[place].connections.fetch_add(1, Ordering::Relaxed);
        Seat { cores: self.clone(), place }
    }
}

impl Core {
    fn start(number: usize) -> io::Result<Core> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        thread::Builder::new().name(format!("core-{number}")).spawn(move || {
            // Nothing is ever sent: an end that is dropped is the end.
            let _ = runtime.block_on(ended);
            runtime.shutdown_background();
        })?;
        Ok(Core { runtime: handle, connections: AtomicUsize::new(0), _end: Some(end) })
    }
}

/// A connection's place on a core, until this is dropped.
pub(super) struct Seat {
    cores: Cores,
    place: usize,
}

impl Seat {
    /// The runtime to be served on.
    pub(super) fn runtime(&self) -> Handle {
        self.cores.0[self.place].runtime.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.cores.0[self.place].connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::RecvTimeoutError;

    use super::*;

    #[tokio::test]
    async fn a_connection_goes_to_the_core_that_has_fewest() {
        let core = || Cores::here().0;
        let two: Vec<Core> = (0..2)
            .map(|_| Core {
                runtime: core()[0].runtime.clone(),
                connections: AtomicUsize::new(0),
                _end: None,
            })
            .collect();
        let cores = Cores(two.into());
        let seats = [cores.seat(), cores.seat(), cores.seat(), cores.seat()];
        assert_eq!(seats.each_ref().map(|seat| seat.place), [0, 1, 0, 1]);
        let [first, second, third, fourth] = seats;
        drop((second, fourth));
        assert_eq!([cores.seat().place, cores.seat().place], [1, 1]);
        drop((first, third));
    }

    #[test]
    fn every_core_runs_what_it_is_given_and_ends_with_its_last_handle() {
        let cores = Cores::start().expect("cores");
        let named = cores.0.iter().map(|core| {
            let (send, receive) = std::sync::mpsc::channel();
            core.runtime.spawn(async move {
                let _ = send.send(thread::current().name().map(str::to_owned));
            });
            receive.recv().expect("an answer").expect("a name")
        });
        for (number, name) in named.enumerate() {
            assert_eq!(name, format!("core-{number}"));
        }
        // What a core still runs is dropped when it ends, and says so.
        let endings = cores.0.iter().map(|core| {
            let (running, ended) = std::sync::mpsc::channel::<()>();
            core.runtime.spawn(async move {
                let _running = running;
                std::future::pending::<()>().await;
            });
            ended
        });
        let endings: Vec<_> = endings.collect();
        let last = cores.clone();
        drop(cores);
        let soon = std::time::Duration::from_millis(50);
        assert_eq!(endings[0].recv_timeout(soon), Err(RecvTimeoutError::Timeout));
        drop(last);
        let long = std::time::Duration::from_secs(20);
        for ended in endings {
            assert_eq!(ended.recv_timeout(long), Err(RecvTimeoutError::Disconnected));
        }
    }
}
