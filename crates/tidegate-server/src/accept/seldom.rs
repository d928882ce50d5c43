//! A future that is looked at only when it calls.
//!
//! A connection's task is woken for every request; its timers and the word to stop are not what
//! woke it, and asking each of them would take locks that others hold.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use pin_project_lite::pin_project;

pin_project! {
    /// A future that is polled once, and then whenever it was woken itself.
    pub(super) struct Seldom<F> {
        #[pin]
        future: F,
        bell: Arc<Bell>,
        // What rings the bell.
        waker: Waker,
        // The task that the bell wakes.
        task: Option<Waker>,
    }
}

impl<F> Seldom<F> {
    pub(super) fn new(future: F) -> Seldom<F> {
        let bell = Arc::new(Bell { rang: AtomicBool::new(true), task: Mutex::new(None) });
        Seldom { future, waker: Arc::clone(&bell).into(), bell, task: None }
    }
}

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let me = self.project();
        if !me.task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            *me.task = Some(cx.waker().clone());
            me.bell.wakes(cx.waker().clone());
        }
        // A plain look first: it is nearly always the only one.
        if !me.bell.rang.load(Ordering::Relaxed) || !me.bell.rang.swap(false, Ordering::Acquire) {
            return Poll::Pending;
        }
        me.future.poll(&mut Context::from_waker(me.waker))
    }
}

/// Remembers that it rang, and wakes the task.
struct Bell {
    rang: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Bell {
    fn wakes(&self, task: Waker) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        // Release, for the Acquire above: whoever sees it sees what it rang for. Before the lock, so
        // that a task that is named meanwhile looks after it.
        self.rang.store(true, Ordering::Release);
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn it_is_polled_when_it_calls_and_not_when_others_do() {
        let (send, mut receive) = oneshot::channel();
        let polls = AtomicUsize::new(0);
        let future = poll_fn(|cx| {
            polls.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut receive).poll(cx)
        });
        let mut seldom = Seldom::new(Box::pin(future));
        for _ in 0..3 {
            let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut seldom).poll(cx))).await;
            assert!(polled.is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        let (_, received) = tokio::join!(async { send.send(7).expect("a receiver") }, seldom);
        assert_eq!(received, Ok(7));
    }

    /// Under two tasks one after the other, such as a select that is given away.
    #[tokio::test]
    async fn it_wakes_the_task_that_last_asked() {
        let (send, receive) = oneshot::channel();
        let mut seldom = Seldom::new(receive);
        let mut nobody = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut seldom).poll(&mut nobody).is_pending());
        let waiting = tokio::spawn(seldom);
        tokio::task::yield_now().await;
        send.send(1).expect("a receiver");
        assert_eq!(waiting.await.expect("an end"), Ok(1));
    }
}
