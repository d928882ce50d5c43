//! Bare axum: the ceiling for a service that answers over HTTP/1.1.
//!
//! `GET /` and `POST /limit` answer nothing; `POST /v1/check` reads JSON and answers JSON.

use axum::Json;
use axum::Router;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Deserialize)]
struct Ask {
    key: String,
    cost: u64,
}

#[derive(Serialize)]
struct Answer {
    allowed: bool,
    remaining: u64,
}

async fn nothing() {}

async fn check(Json(ask): Json<Ask>) -> Json<Answer> {
    let allowed = !ask.key.is_empty();
    Json(Answer {
        allowed,
        remaining: ask.cost,
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let app = Router::new()
        .route("/", get(nothing))
        .route("/limit", post(nothing))
        .route("/v1/check", post(check));
    let listener = tokio::net::TcpListener::bind(servers::address()?).await?;
    let listener = listener.tap_io(|io| {
        // A connection without it is slower, not wrong.
        let _ = io.set_nodelay(true);
    });
    axum::serve(listener, app).await?;
    Ok(())
}
