//! The client's side: a layer that waits until the limit allows, in place of refusing.

mod advice;
mod date;
mod error;
mod layer;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tidegate::{Amount, Cost, Key, Pacer, Span, Store, Timer};
use tidegate_middleware::{Ask, IntoKey, KeyBuf, Reason};
use tower_service::Service;

pub use advice::{Advice, NoAdvice, RetryAfter, retry_after};
pub use error::PaceFailure;
pub use layer::PaceLayer;

/// Whom a request of a client counts for: what [`PaceLayer::key`] takes. A function of the request
/// is one.
pub trait PaceKey<R> {
    /// Writes the key behind what is there, and says what becomes of the request.
    fn ask(&self, request: &R, key: &mut KeyBuf) -> Ask;
}

impl<F, R, K> PaceKey<R> for F
where
    F: Fn(&R) -> K,
    K: IntoKey,
{
    fn ask(&self, request: &R, key: &mut KeyBuf) -> Ask {
        self(request).into_key(key)
    }
}

/// All calls count for one key.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneKey;

impl<R> PaceKey<R> for OneKey {
    fn ask(&self, _: &R, key: &mut KeyBuf) -> Ask {
        "all".into_key(key)
    }
}

/// What a layer and its services share.
struct Pace<S, T, K, A> {
    pacer: Pacer<S, T>,
    key: K,
    advice: A,
    patience: Option<Span>,
}

/// A service that waits for its turn before it calls the one inside: what [`PaceLayer`] makes.
///
/// It is ready when the service inside is; the waiting is done in the future of the call, where
/// dropping it gives up the turn and takes nothing.
pub struct Paced<I, S, T, K, A> {
    inner: I,
    pace: Arc<Pace<S, T, K, A>>,
}

/// What is known of a request before it waits.
enum Turn {
    /// It waits for this key.
    Wait(KeyBuf, Cost),
    /// It is not counted.
    Skip,
}

impl<S, T, K, A> Pace<S, T, K, A> {
    fn turn<R>(&self, request: &R) -> Result<Turn, Reason>
    where
        K: PaceKey<R>,
    {
        let mut key = KeyBuf::new();
        match self.key.ask(request, &mut key) {
            Ask::Limit(terms) if terms.policy.is_some() => {
                Err(Reason::from("a pacer has one policy; the key must not name another"))
            }
            Ask::Limit(terms) => Ok(Turn::Wait(key, terms.cost.unwrap_or(Amount::ONE))),
            Ask::Skip => Ok(Turn::Skip),
            Ask::Missing(reason) | Ask::Reject(reason) => Err(reason),
        }
    }
}

impl<S: Store + 'static, T: Timer, K, A> Pace<S, T, K, A> {
    /// Waits for the turn of this key, and takes it.
    async fn wait<E>(&self, key: &KeyBuf, cost: Cost) -> Result<(), PaceFailure<E>> {
        let key = named(key).map_err(PaceFailure::Key)?;
        match self.patience {
            Some(patience) => self.pacer.until_ready_within(key, cost, patience).await,
            None => self.pacer.until_ready(key, cost).await,
        }
        .map(|_| ())
        .map_err(PaceFailure::from)
    }

    /// Does as the other side asked in its answer.
    fn obey<R>(&self, key: &KeyBuf, answer: &R)
    where
        A: Advice<R>,
    {
        if let (Some(away), Ok(key)) = (self.advice.stay_away(answer), named(key)) {
            self.pacer.pause(key, away);
        }
    }
}

fn named(key: &KeyBuf) -> Result<Key<'_>, Reason> {
    Key::new(key.as_bytes()).map_err(|error| Reason::from(error.to_string()))
}

impl<I, S, T, K, A, R> Service<R> for Paced<I, S, T, K, A>
where
    I: Service<R> + Clone + Send + 'static,
    I::Future: Send,
    I::Response: Send,
    I::Error: Send,
    S: Store + 'static,
    T: Timer,
    K: PaceKey<R> + Send + Sync + 'static,
    A: Advice<I::Response> + Send + Sync + 'static,
    R: Send + 'static,
{
    type Response = I::Response;
    type Error = PaceFailure<I::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<I::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(PaceFailure::Inner)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let pace = Arc::clone(&self.pace);
        // The one that is ready goes along; its clone stays and is asked anew whether it is.
        let stays = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, stays);
        let turn = pace.turn(&request);
        Box::pin(async move {
            let Turn::Wait(key, cost) = turn.map_err(PaceFailure::Key)? else {
                return ready.call(request).await.map_err(PaceFailure::Inner);
            };
            pace.wait(&key, cost).await?;
            let answer = ready.call(request).await.map_err(PaceFailure::Inner)?;
            pace.obey(&key, &answer);
            Ok(answer)
        })
    }
}

impl<I: Clone, S, T, K, A> Clone for Paced<I, S, T, K, A> {
    fn clone(&self) -> Self {
        Paced { inner: self.inner.clone(), pace: Arc::clone(&self.pace) }
    }
}

impl<I: fmt::Debug, S, T, K, A> fmt::Debug for Paced<I, S, T, K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paced")
            .field("inner", &self.inner)
            .field("pacer", &self.pace.pacer)
            .finish_non_exhaustive()
    }
}
