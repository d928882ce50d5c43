//! Through the router, in this process.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use http::{Method, Request, StatusCode};
use tidegate::{Amount, Limit, Limiter, MemoryStore, Policy, Span};
use tidegate_tower::{Extractor, MatchedRoute, PeerAddr, PeerIp, RateLimitLayer};
use tower::ServiceExt;
use tower_http::cors::{Any, CorsLayer};

/// A layer of one window of a day, so that nothing comes back meanwhile.
fn layer(max: u64) -> RateLimitLayer<MemoryStore> {
    let day = Span::from_secs(86_400);
    let limit = Limit::fixed_window_from_first("day", Amount::from_units(max), day).unwrap();
    let policy = Policy::new("api", [limit]).unwrap();
    RateLimitLayer::new(Limiter::new(MemoryStore::new(), policy))
}

fn request(method: Method, path: &str) -> Request<Body> {
    let peer = PeerAddr(SocketAddr::from(([192, 0, 2, 1], 4711)));
    Request::builder().method(method).uri(path).extension(peer).body(Body::empty()).unwrap()
}

async fn status(app: &Router, method: Method, path: &str) -> u16 {
    let response = app.clone().oneshot(request(method, path)).await.unwrap();
    response.status().as_u16()
}

/// P49: however a path is spelled, what reaches the handler counts for its route, and what does not
/// reach it does not spend it.
#[tokio::test]
async fn every_spelling_that_reaches_a_route_is_one_key() {
    let layer = layer(3).key(MatchedRoute.or("no route"));
    let spellings = [
        "/login",
        "/login?x=1",
        "//login",
        "/login/",
        "/LOGIN",
        "/%6Cogin",
        "/login?",
        "/login?x=2#y",
        "http://x/login",
    ];
    for reached in [true, false] {
        let app = Router::new().route("/login", get(|| async {})).layer(layer.clone());
        let mut answers = Vec::new();
        for spelling in spellings {
            let is_found = {
                let bare = Router::new().route("/login", get(|| async {}));
                status(&bare, Method::GET, spelling).await == 200
            };
            if is_found == reached {
                answers.push(status(&app, Method::GET, spelling).await);
            }
        }
        let passed = if reached { 200 } else { 404 };
        assert!(answers.len() > 3, "both kinds are tried: {answers:?}");
        assert_eq!(answers[..3], [passed; 3]);
        assert!(answers[3..].iter().all(|status| *status == 429), "{answers:?}");
    }
}

/// P49: another value of a parameter is the same route.
#[tokio::test]
async fn a_route_with_a_parameter_is_one_key() {
    let app = Router::new()
        .route("/users/{id}", get(|| async {}))
        .route("/other", get(|| async {}))
        .route_layer(layer(3).key((MatchedRoute, PeerIp::default())));
    for (id, expected) in [("1", 200), ("2", 200), ("3", 200), ("4", 429), ("5", 429)] {
        assert_eq!(status(&app, Method::GET, &format!("/users/{id}")).await, expected);
    }
    assert_eq!(status(&app, Method::GET, "/other").await, 200);
    assert_eq!(status(&app, Method::GET, "/nowhere").await, 404, "a route_layer leaves it alone");
}

/// With CORS outside, a preflight is answered before it could be counted, and a denial can be read by
/// the page that asked. The other way round, preflights use the limit up, and what a browser is not
/// allowed to read is the denial.
#[tokio::test]
async fn cors_belongs_outside_of_the_limit() {
    let cors = || CorsLayer::new().allow_origin(Any).allow_methods([Method::POST]);
    let routes = || Router::new().route("/pay", post(|| async {}));
    let preflight = || {
        let mut request = request(Method::OPTIONS, "/pay");
        let headers = request.headers_mut();
        headers.insert("origin", "https://shop.example".parse().unwrap());
        headers.insert("access-control-request-method", "POST".parse().unwrap());
        request
    };
    let allow_origin = "access-control-allow-origin";

    let right = routes().layer(layer(2)).layer(cors());
    for _ in 0..5 {
        let response = right.clone().oneshot(preflight()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }
    let mut answers = Vec::new();
    for _ in 0..3 {
        let mut request = request(Method::POST, "/pay");
        request.headers_mut().insert("origin", "https://shop.example".parse().unwrap());
        answers.push(right.clone().oneshot(request).await.unwrap());
    }
    assert_eq!(answers.iter().map(|a| a.status().as_u16()).collect::<Vec<_>>(), [200, 200, 429]);
    assert!(answers.iter().all(|answer| answer.headers().contains_key(allow_origin)));

    let wrong = routes().layer(cors()).layer(layer(2));
    let mut last = None;
    for _ in 0..3 {
        last = Some(wrong.clone().oneshot(preflight()).await.unwrap());
    }
    let last = last.unwrap();
    assert_eq!(last.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!last.headers().contains_key(allow_origin));
}

/// The outermost layer decides first: what it denies is not charged by those inside.
#[tokio::test]
async fn layers_decide_from_the_outside() {
    let inner = layer(5).key("inner");
    let app = Router::new()
        .route("/", get(|| async {}))
        .layer(inner.clone())
        .layer(layer(2).key("outer"));
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(status(&app, Method::GET, "/").await);
    }
    assert_eq!(answers, [200, 200, 429, 429, 429, 429, 429, 429, 429, 429]);
    let alone = Router::new().route("/", get(|| async {})).layer(inner);
    for expected in [200, 200, 200, 429] {
        assert_eq!(status(&alone, Method::GET, "/").await, expected, "3 of 5 are left");
    }
}

/// A layer is one limit wherever it is put; two layers are two.
#[tokio::test]
async fn clones_of_a_layer_share_its_limit() {
    let shared = layer(3).key("all");
    let app = Router::new()
        .route("/a", get(|| async {}).layer(shared.clone()))
        .route("/b", get(|| async {}).layer(shared));
    for (path, expected) in [("/a", 200), ("/b", 200), ("/a", 200), ("/b", 429), ("/a", 429)] {
        assert_eq!(status(&app, Method::GET, path).await, expected);
    }
}
