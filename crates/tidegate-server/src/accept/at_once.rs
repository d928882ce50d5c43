//! Tasks that are mostly over at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Waker};

use hyper::rt::Executor;

/// Lets a task go as far as it can where it is, and spawns only what is left of it.
///
/// An HTTP/2 connection answers each request in a task. When nothing has to be waited for, the
/// answer is there before a task could be made; and the answers to what came in one read leave in
/// one write.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtOnce;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for AtOnce {
    fn execute(&self, task: F) {
        let mut task = Box::pin(task);
        // A task that waits is polled again where it is spawned, and then says whom to wake.
        let mut nobody = Context::from_waker(Waker::noop());
        // As in a task of its own, a fault ends this task alone; the panic hook has told of it. (What a
        // face does within its `call` comes before there is a task: a fault there ends the connection.)
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut nobody)));
        if polled.is_ok_and(|polled| polled.is_pending()) {
            tokio::spawn(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_waits_goes_on_and_a_fault_harms_nobody() {
        let done = Arc::new(AtomicUsize::new(0));
        let task = |waits: bool| {
            let done = Arc::clone(&done);
            async move {
                if waits {
                    tokio::task::yield_now().await;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        AtOnce.execute(task(false));
        assert_eq!(done.load(Ordering::Relaxed), 1);
        AtOnce.execute(task(true));
        AtOnce.execute(async { panic!("a fault") });
        assert_eq!(done.load(Ordering::Relaxed), 1);
        while done.load(Ordering::Relaxed) < 2 {
            tokio::task::yield_now().await;
        }
    }
}
