//! The limiter's observer hears of what the middleware asks, whenever the store answers.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use tidegate::{
    Check, Limit, Limiter, MemoryStore, Observer, Outcome, Policy, Span, Store, StoreError,
    StoreErrorKind, Timestamp, Verdict,
};
use tidegate_actix::RateLimit;

use crate::fixture::{from, quota, statuses};

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

    fn degraded(&self, let_through: bool, checks: u64) {
        self.0.lock().unwrap().push(format!("{checks} without, passed: {let_through}"));
    }
}

/// What is heard of two requests over this store, and what they got.
async fn heard_of_two<S: Store + 'static>(store: S) -> (Vec<String>, Vec<u16>) {
    let heard = Arc::new(Heard::default());
    let limiter = Limiter::new(store, quota("api", "1/hour")).with_observer(Arc::clone(&heard));
    let answers = statuses(&RateLimit::new(limiter), 2, || from("192.0.2.1")).await;
    (std::mem::take(&mut *heard.0.lock().unwrap()), answers)
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

#[actix_web::test]
async fn every_request_is_heard_of_whenever_the_store_answers() {
    let told = ["api api Ok(Allow)", "api api Ok(Deny)"].map(str::to_owned).to_vec();
    let usual = (told, vec![200, 429]);
    assert_eq!(heard_of_two(MemoryStore::new()).await, usual);
    assert_eq!(heard_of_two(Later(Some(MemoryStore::new()))).await, usual);
    let (told, answers) = heard_of_two(Later(None)).await;
    let failed = ["api - Err(Unavailable)", "1 without, passed: false"];
    assert_eq!(told, [failed, failed].concat());
    assert_eq!(answers, [503; 2]);
}
