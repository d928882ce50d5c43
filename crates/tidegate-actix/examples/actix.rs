//! A web server with limits: by peer, by user, by route. It listens on `PORT`, or 3000.
//!
//! ```sh
//! cargo run -p tidegate-actix --example actix
//! curl -i localhost:3000/                      # ten a minute for each address
//! curl -i -H 'x-user: ann' localhost:3000/me   # five a minute for each user
//! curl -i localhost:3000/export/2026           # three a minute for each address on each route
//! ```

use std::error::Error;

use actix_web::http::header::HeaderName;
use actix_web::{App, HttpServer, web};
use tidegate::{Limit, Limiter, MemoryStore, Policy, PolicyError};
use tidegate_actix::{Header, MatchedRoute, PeerIp, RateLimit};

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // All limits lie in one store, kept apart by their policies' names, and all workers share them.
    let store = MemoryStore::new();
    let limit = |name: &str, quota: &str| {
        let policy = Policy::new(name, [Limit::quota(name, quota)?])?;
        Ok::<_, PolicyError>(RateLimit::new(Limiter::new(store.clone(), policy)))
    };
    let by_peer = limit("peer", "10/minute")?.key(PeerIp::default());
    // Something in front of this has verified who the user is.
    let by_user = limit("user", "5/minute")?.key(Header::new(HeaderName::from_static("x-user")));
    let by_route = limit("route", "3/minute")?.key((MatchedRoute, PeerIp::default()));
    let heavy = move |path: &str| web::resource(path).wrap(by_route.clone());
    let app = move || {
        App::new()
            .service(web::resource("/").wrap(by_peer.clone()).get(async || "hello\n"))
            .service(web::resource("/me").wrap(by_user.clone()).get(async || "you\n"))
            .service(heavy("/search").get(async || "found\n"))
            .service(heavy("/export/{year}").get(async || "exported\n"))
    };
    let port = std::env::var("PORT").map_or(Ok(3000), |port| port.parse::<u16>())?;
    let server = HttpServer::new(app).bind(("127.0.0.1", port))?;
    for address in server.addrs() {
        println!("listening on http://{address}");
    }
    server.run().await?;
    Ok(())
}
