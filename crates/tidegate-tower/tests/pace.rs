//! Clients that wait for their turn in place of being refused.

#![allow(clippy::unwrap_used, reason = "a test that meets what it did not expect has failed")]

use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tidegate::{
    Amount, Limit, Limiter, ManualClock, ManualTimer, MemoryConfig, MemoryStore, PaceError, Pacer,
    Policy, Span, Timer, Timestamp,
};
use tidegate_tower::{Charge, PaceFailure, PaceLayer};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);

type ManualPacer = Pacer<MemoryStore<Arc<ManualClock>>, ManualTimer>;

/// A pacer in virtual time, of this limit.
fn pacer(limit: &str) -> (ManualPacer, ManualTimer) {
    let clock = Arc::new(ManualClock::new(START));
    let store = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
    let timer = ManualTimer::new(clock);
    (Limiter::new(store, policy(limit)).pacer(timer.clone()), timer)
}

fn policy(limit: &str) -> Policy {
    Policy::new("partner", [Limit::quota("calls", limit).unwrap()]).unwrap()
}

fn call(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

/// What a server saw: when, and which path.
type Seen = Arc<Mutex<Vec<(Span, String)>>>;

/// A server that notes what it sees, and answers with the status that the path says, if one.
fn server(
    timer: ManualTimer,
) -> (
    Seen,
    impl Service<Request<()>, Response = Response<()>, Error = Infallible, Future: Send> + Clone + Send,
) {
    let seen = Seen::default();
    let notes = Arc::clone(&seen);
    let service = service_fn(move |request: Request<()>| {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        let status = path.parse().unwrap_or(StatusCode::OK);
        notes.lock().unwrap().push((timer.now().since(START), path));
        let answer = Response::builder().status(status).header("retry-after", "30").body(());
        std::future::ready(Ok(answer.unwrap()))
    });
    (seen, service)
}

#[test]
fn calls_are_made_in_their_order_at_the_rate_of_the_limit() {
    let (pacer, timer) = pacer("2 per second");
    let (seen, server) = server(timer.clone());
    let client = ServiceBuilder::new().layer(PaceLayer::over(pacer)).service(server);
    let send = |path| client.clone().oneshot(call(path));
    timer.block_on(async {
        let (a, b, c, d) = tokio::join!(send("/a"), send("/b"), send("/c"), send("/d"));
        assert!([a, b, c, d].iter().all(Result::is_ok));
    });
    let at = |millis, path: &str| (Span::from_millis(millis), path.to_owned());
    assert_eq!(*seen.lock().unwrap(), [at(0, "a"), at(0, "b"), at(500, "c"), at(1_000, "d")]);
}

#[test]
fn a_call_that_would_wait_too_long_is_not_made_and_takes_nothing() {
    let (pacer, timer) = pacer("1 per minute");
    let (seen, server) = server(timer.clone());
    let layer = PaceLayer::over(pacer).patience(Duration::from_secs(10));
    let client = ServiceBuilder::new().layer(layer).service(server);
    let send = |path| client.clone().oneshot(call(path));
    timer.block_on(async {
        send("/a").await.unwrap();
        let wait = Some(Span::from_secs(60));
        assert_eq!(send("/b").await.unwrap_err(), PaceError::TooLong { wait }.into());
        assert_eq!(timer.now(), START);
        timer.sleep(Span::from_secs(60)).await;
        send("/c").await.unwrap();
    });
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[test]
fn an_answer_that_says_stay_away_is_obeyed_for_its_key() {
    let (pacer, timer) = pacer("100 per second");
    let (seen, server) = server(timer.clone());
    let layer = PaceLayer::over(pacer)
        .key(|request: &Request<()>| request.headers().get("to").map(|to| to.as_bytes().to_vec()))
        .obey_retry_after();
    let client = ServiceBuilder::new().layer(layer).service(server);
    let send = |to: &str, path: &str| {
        let mut request = call(path);
        request.headers_mut().insert("to", to.parse().unwrap());
        client.clone().oneshot(request)
    };
    timer.block_on(async {
        assert_eq!(send("x", "/429").await.unwrap().status(), 429, "the answer is handed on");
        send("y", "/200").await.unwrap();
        assert_eq!(timer.now(), START);
        send("x", "/503").await.unwrap();
        send("x", "/200").await.unwrap();
    });
    let seen: Vec<Span> = seen.lock().unwrap().iter().map(|(at, _)| *at).collect();
    assert_eq!(seen, [0, 0, 30, 60].map(Span::from_secs));
}

#[test]
fn costs_and_uncounted_calls_come_with_the_key() {
    let (pacer, timer) = pacer("10 per second");
    let (seen, server) = server(timer.clone());
    let layer = PaceLayer::over(pacer).key(|request: &Request<()>| match request.uri().path() {
        "/free" => Charge::skip(),
        "/none" => Charge::reject("there is no key"),
        "/huge" => Charge::key("all").cost(Amount::from_units(11)),
        _ => Charge::key("all").cost(Amount::from_units(10)),
    });
    let client = ServiceBuilder::new().layer(layer).service(server);
    let send = |path| client.clone().oneshot(call(path));
    timer.block_on(async {
        for path in ["/ten", "/free", "/ten", "/free"] {
            send(path).await.unwrap();
        }
        assert_eq!(timer.now().since(START), Span::from_secs(1));
        let none = send("/none").await.unwrap_err();
        assert_eq!(none.to_string(), "the call was not made: there is no key");
        let huge = send("/huge").await.unwrap_err();
        assert!(matches!(huge, PaceFailure::Wait(PaceError::Exceeds { .. })), "{huge}");
    });
    assert_eq!(seen.lock().unwrap().len(), 4);
}

#[test]
fn readiness_is_that_of_the_service_inside() {
    #[derive(Clone)]
    struct Never;

    impl Service<Request<()>> for Never {
        type Response = ();
        type Error = Infallible;
        type Future = std::future::Ready<Result<(), Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Pending
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            panic!("it is not ready");
        }
    }

    let (pacer, _) = pacer("1 per second");
    let mut client = ServiceBuilder::new().layer(PaceLayer::over(pacer)).service(Never);
    let mut context = Context::from_waker(Waker::noop());
    assert!(client.poll_ready(&mut context).is_pending());
}

/// Many threads, real time, and every third caller gives up after a moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_on_many_threads_never_exceed_the_limit_and_none_is_forgotten() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let server = service_fn(move |_: Request<()>| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok::<_, Infallible>(Response::new(())))
    });
    let layer = PaceLayer::new(Limiter::new(MemoryStore::new(), policy("100/s burst 5")));
    let client = ServiceBuilder::new().layer(layer).service(server);
    let start = tokio::time::Instant::now();
    let mut callers = Vec::new();
    for number in 0..120_u64 {
        let client = client.clone();
        callers.push(tokio::spawn(async move {
            let sent = client.oneshot(call("/"));
            match number % 3 {
                0 => {
                    let patience = Duration::from_millis(number % 7);
                    tokio::time::timeout(patience, sent).await.is_ok()
                }
                _ => sent.await.is_ok(),
            }
        }));
    }
    let mut passed = 0;
    for (number, caller) in callers.into_iter().enumerate() {
        let is_made = caller.await.unwrap();
        assert!(is_made || number % 3 == 0, "caller {number} waited to the end");
        passed += usize::from(is_made);
    }
    assert_eq!(passed, made.load(Ordering::SeqCst));
    let least = Duration::from_millis(10) * u32::try_from(passed - 5).unwrap();
    assert!(start.elapsed() + Duration::from_millis(1) >= least, "{:?}", start.elapsed());
}

/// A future of a call can be sent to another thread, as a client's are.
#[test]
fn calls_are_send() {
    fn is_send<F: Future + Send + 'static>(_: F) {}
    let (pacer, timer) = pacer("1 per second");
    let (_, server) = server(timer);
    is_send(ServiceBuilder::new().layer(PaceLayer::over(pacer)).service(server).oneshot(call("/")));
}
