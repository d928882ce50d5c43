//! What passes and what is denied, and what the answers say.

use tidegate::Span;
use tidegate_tower::RateLimitLayer;

use crate::fixture::{clock, from, limiter, quota, send};

#[tokio::test]
async fn the_limit_passes_and_the_next_is_denied_until_its_wait_is_over() {
    let clock = clock();
    let layer = RateLimitLayer::new(limiter(&clock, quota("api", "2 per 10s")));
    for remaining in [1, 0] {
        let answer = send(&layer, from("192.0.2.1")).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "reached"));
        let state = answer.header("ratelimit").unwrap();
        assert!(state.starts_with(&format!("\"api\";r={remaining};t=")), "{state}");
        assert_eq!(answer.header("ratelimit-policy").as_deref(), Some("\"api\";q=2;w=10"));
        assert_eq!(answer.header("retry-after"), None);
    }
    let answer = send(&layer, from("192.0.2.1")).await;
    assert_eq!((answer.status, answer.body.as_str()), (429, "rate limit exceeded\n"));
    assert_eq!(answer.header("retry-after").as_deref(), Some("5"));
    assert_eq!(answer.header("ratelimit").as_deref(), Some("\"api\";r=0;t=5"));
    assert_eq!(answer.header("content-type").as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(send(&layer, from("192.0.2.2")).await.status, 200, "another peer");
    clock.advance(Span::from_secs(5));
    assert_eq!(send(&layer, from("192.0.2.1")).await.status, 200);
}
