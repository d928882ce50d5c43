//! The limiter's observer hears of what the middleware asks.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use tidegate::{
    Check, Limit, Limiter, MemoryStore, Observer, Outcome, Policy, Span, Store, StoreError,
    StoreErrorKind, Timestamp, Verdict,
};
use tidegate_tower::{OnStoreError, RateLimitLayer, RequestHead};
use tower::{ServiceBuilder, ServiceExt, service_fn};

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Observer for Heard {
    fn decision(
        &self,
        policy: &Policy,
        limit: Option<&Limit>,
        outcome: Result<Outcome, &StoreError>,
        _elapsed: Span,
    ) {
        let limit = limit.map_or("-", |limit| limit.name().as_str());
        let outcome = outcome.map_err(StoreError::kind);
        self.0.lock().unwrap().push(format!("{} {limit} {outcome:?}", policy.name()));
    }

    fn store_failed(&self, error: &StoreError) {
        self.0.lock().unwrap().push(error.to_string());
    }

    fn degraded(&self, let_through: bool, checks: u64) {
        self.0.lock().unwrap().push(format!("{checks} without, passed: {let_through}"));
    }
}

fn policy() -> Policy {
    Policy::new("api", [Limit::quota("burst", "1/hour").unwrap()]).unwrap()
}

/// What is heard of two requests over this store.
async fn heard_of_two<S>(store: S) -> Vec<String>
where
    S: Store + 'static,
{
    let heard = Arc::new(Heard::default());
    let limiter = Limiter::new(store, policy()).with_observer(Arc::clone(&heard));
    let layer = RateLimitLayer::new(limiter)
        .key(|_: &RequestHead<'_>| "all")
        .on_store_error(OnStoreError::Allow);
    let service = ServiceBuilder::new().layer(layer).service(service_fn(|_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(Response::new(String::new())))
    }));
    for _ in 0..2 {
        service.clone().oneshot(Request::new(())).await.unwrap();
    }
    std::mem::take(&mut *heard.0.lock().unwrap())
}

/// A store whose answers come later: of the one inside, or that it is away.
struct Later(Option<MemoryStore>);

impl Store for Later {
    type Take = Pin<Box<dyn Future<Output = Result<Verdict, StoreError>> + Send>>;
    type Done = std::future::Ready<Result<(), StoreError>>;

    fn take(&self, checks: &[Check<'_>]) -> Self::Take {
        let answer = self.0.as_ref().map(|store| store.take(checks));
        Box::pin(async move {
            tokio::task::yield_now().await;
            answer.ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable, "away"))
        })
    }

    fn take_each(&self, checks: &[Check<'_>]) -> Self::Take {
        self.take(checks)
    }

    fn refund(&self, _: &[Check<'_>], _: Timestamp) -> Self::Done {
        std::future::ready(Ok(()))
    }

    fn reset(&self, _: &[Check<'_>]) -> Self::Done {
        std::future::ready(Ok(()))
    }
}

#[tokio::test]
async fn every_request_is_heard_of_whenever_the_store_answers() {
    let told = ["api burst Ok(Allow)", "api burst Ok(Deny)"];
    assert_eq!(heard_of_two(MemoryStore::new()).await, told);
    assert_eq!(heard_of_two(Later(Some(MemoryStore::new()))).await, told);
    let failed = ["store unavailable: away", "api - Err(Unavailable)", "1 without, passed: true"];
    assert_eq!(heard_of_two(Later(None)).await, [failed, failed].concat());
}
