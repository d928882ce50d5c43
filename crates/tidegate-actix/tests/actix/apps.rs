//! In apps, through actix-web's router.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_cors::Cors;
use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::Method;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, Error, HttpRequest, web};
use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy, Span};
use tidegate_actix::{Extractor, MatchedRoute, PeerIp, RateLimit, Rule};

/// A limit of one window of a day, so that nothing comes back meanwhile.
fn limit(max: u64) -> RateLimit<MemoryStore> {
    let day = Span::from_secs(86_400);
    let limit = Limit::fixed_window_from_first("day", Amount::from_units(max), day).unwrap();
    let policy = Policy::new("api", [limit]).unwrap();
    RateLimit::new(Limiter::new(MemoryStore::new(), policy))
}

fn request(path: &str) -> TestRequest {
    TestRequest::with_uri(path).peer_addr(([192, 0, 2, 1], 4711).into())
}

async fn status<A, R, B>(app: &A, request: R) -> u16
where
    A: Service<R, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    app.call(request).await.unwrap().status().as_u16()
}

async fn hello() -> &'static str {
    "hello"
}

const SPELLINGS: [&str; 10] = [
    "/login",
    "/login?x=1",
    "//login",
    "/login/",
    "/LOGIN",
    "/%6Cogin",
    "/login?",
    "/%6c%6F%67in?x",
    "/login%2F",
    "http://x/login",
];

/// P49: however a path is spelled, what reaches the handler counts for its route, and what does not
/// reach it does not spend it. It is so wherever the limit is put.
#[actix_web::test]
async fn every_spelling_that_reaches_a_route_is_one_key() {
    let bare = init_service(App::new().route("/login", web::get().to(hello))).await;
    let (mut reach, mut miss) = (Vec::new(), Vec::new());
    for spelling in SPELLINGS {
        match status(&bare, request(spelling).to_request()).await {
            200 => reach.push(spelling),
            _ => miss.push(spelling),
        }
    }
    assert!(reach.contains(&"/%6Cogin"), "the router decodes: {reach:?}");
    assert!(miss.len() > 3, "{miss:?}");

    let by_route = || limit(3).key(MatchedRoute.or("no route"));
    let around = App::new().wrap(by_route()).route("/login", web::get().to(hello));
    let around = init_service(around).await;
    let on_it = web::resource("/login").wrap(by_route()).get(hello);
    let on_it = init_service(App::new().service(on_it)).await;
    let mut answers = [Vec::new(), Vec::new(), Vec::new()];
    for spelling in &reach {
        answers[0].push(status(&around, request(spelling).to_request()).await);
        answers[1].push(status(&on_it, request(spelling).to_request()).await);
    }
    for spelling in &miss {
        answers[2].push(status(&around, request(spelling).to_request()).await);
    }
    for (answers, passed) in answers.iter().zip([200, 200, 404]) {
        assert_eq!(answers[..3], [passed; 3]);
        assert!(answers[3..].iter().all(|status| *status == 429), "{answers:?}");
    }
}

/// P49: a spelling that another route would match, were it not decoded first, counts for the route that
/// it reaches; also within a scope, and around one.
#[actix_web::test]
async fn a_spelling_cannot_pass_for_another_route() {
    let by_route = || limit(3).key(MatchedRoute);
    let login = |scope| {
        web::scope(scope)
            .route("/login", web::get().to(hello))
            .route("/{other}", web::get().to(async || "other"))
    };
    let around_all = App::new().wrap(by_route()).service(login("/api")).service(login(""));
    let around_all = init_service(around_all).await;
    let around_scopes =
        App::new().service(login("/api").wrap(by_route())).service(login("").wrap(by_route()));
    let around_scopes = init_service(around_scopes).await;
    let spellings =
        [("/login", 200), ("/%6Cogin", 200), ("/logi%6E", 200), ("/%6c%6fgin", 429), ("/x", 200)];
    for scope in ["/api", ""] {
        for (path, expected) in spellings {
            let path = format!("{scope}{path}");
            let request = || request(&path).to_request();
            assert_eq!(status(&around_all, request()).await, expected, "{path}");
            assert_eq!(
                status(&around_scopes, request()).await,
                expected,
                "{path} around its scope"
            );
        }
    }
}

/// P49: another value of a parameter is the same route.
#[actix_web::test]
async fn a_route_with_a_parameter_is_one_key() {
    let users = web::scope("/users").route("/{id}", web::get().to(hello));
    let app = App::new()
        .wrap(limit(3).key((MatchedRoute.or_skip(), PeerIp::default())))
        .service(users)
        .route("/other", web::get().to(hello));
    let app = init_service(app).await;
    for (id, expected) in [("1", 200), ("2", 200), ("3?x", 200), ("%34", 429), ("5", 429)] {
        assert_eq!(status(&app, request(&format!("/users/{id}")).to_request()).await, expected);
    }
    assert_eq!(status(&app, request("/other").to_request()).await, 200);
    for _ in 0..5 {
        assert_eq!(status(&app, request("/nowhere").to_request()).await, 404, "it is let pass");
    }
}

/// With CORS outside, a preflight is answered before it could be counted, and a denial can be read by
/// the page that asked. The other way round, preflights use the limit up, and what a browser is not
/// allowed to read is the denial. What is wrapped last is outside.
#[actix_web::test]
async fn cors_belongs_outside_of_the_limit() {
    let cors = || Cors::default().allowed_origin("https://shop.example").allowed_methods(["POST"]);
    let preflight = || {
        request("/pay")
            .method(Method::OPTIONS)
            .insert_header(("origin", "https://shop.example"))
            .insert_header(("access-control-request-method", "POST"))
            .to_request()
    };
    let allow_origin = "access-control-allow-origin";

    let right = App::new().wrap(limit(2)).wrap(cors()).route("/pay", web::post().to(hello));
    let right = init_service(right).await;
    for _ in 0..5 {
        assert_eq!(right.call(preflight()).await.unwrap().status(), 200);
    }
    for expected in [200, 200, 429] {
        let pay = request("/pay").method(Method::POST);
        let pay = pay.insert_header(("origin", "https://shop.example")).to_request();
        let answer = right.call(pay).await.unwrap();
        assert_eq!(answer.status(), expected);
        assert!(answer.headers().contains_key(allow_origin), "{expected}");
    }

    let wrong = App::new().wrap(cors()).wrap(limit(2)).route("/pay", web::post().to(hello));
    let wrong = init_service(wrong).await;
    for expected in [200, 200, 429] {
        let answer = wrong.call(preflight()).await.unwrap();
        assert_eq!(answer.status(), expected);
        assert_eq!(answer.headers().contains_key(allow_origin), expected == 200);
    }
}

/// The outermost limit decides first: what it denies is not charged by those inside.
#[actix_web::test]
async fn limits_decide_from_the_outside() {
    let inner = limit(5).key("inner");
    let app = App::new().wrap(inner.clone()).wrap(limit(2).key("outer"));
    let app = init_service(app.route("/", web::get().to(hello))).await;
    for expected in [200, 200, 429, 429, 429, 429, 429] {
        assert_eq!(status(&app, request("/").to_request()).await, expected);
    }
    let alone = init_service(App::new().wrap(inner).route("/", web::get().to(hello))).await;
    for expected in [200, 200, 200, 429] {
        assert_eq!(status(&alone, request("/").to_request()).await, expected, "3 of 5 are left");
    }
}

/// The router panics over a request of which there is a clone; one within the future that gave the key
/// is gone by then.
#[actix_web::test]
async fn a_key_may_be_looked_up_by_the_whole_request() {
    struct LookUp(HttpRequest);
    impl Future for LookUp {
        type Output = String;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<String> {
            Poll::Ready(self.0.path().to_owned())
        }
    }
    let by_path = limit(2).key_async(|request| LookUp(request.request().clone()));
    let app = App::new().wrap(by_path).service(web::scope("/a").route("/b", web::get().to(hello)));
    let app = init_service(app).await;
    for expected in [200, 200, 429] {
        assert_eq!(status(&app, request("/a/b").to_request()).await, expected);
    }
}

/// P45: one limit is one wherever it is put, in an app, a scope, a resource or another worker's app; two
/// are two.
#[actix_web::test]
async fn clones_share_their_limit() {
    let shared: RateLimit<MemoryStore, Rule<&str>> = limit(3).key("all");
    let app = || {
        App::new()
            .service(web::resource("/a").wrap(shared.clone()).get(hello))
            .service(web::scope("/b").wrap(shared.clone()).route("", web::get().to(hello)))
            .service(web::resource("/own").wrap(limit(3).key("all")).get(hello))
    };
    let (one, other) = (init_service(app()).await, init_service(app()).await);
    assert_eq!(status(&one, request("/a").to_request()).await, 200);
    assert_eq!(status(&one, request("/b").to_request()).await, 200);
    assert_eq!(status(&other, request("/a").to_request()).await, 200);
    assert_eq!(status(&other, request("/b").to_request()).await, 429);
    assert_eq!(status(&one, request("/a").to_request()).await, 429);
    assert_eq!(status(&one, request("/own").to_request()).await, 200);
}
