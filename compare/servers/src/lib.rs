//! What the bare servers and the driver share.

pub mod load;
pub mod wire;

use std::net::SocketAddr;

/// Where a bare server listens: `127.0.0.1` and the port of the environment's `PORT`, 8080 by default.
///
/// # Errors
///
/// When `PORT` is no port.
pub fn address() -> Result<SocketAddr, std::num::ParseIntError> {
    let port = std::env::var("PORT").unwrap_or_else(|_| "8080".into());
    Ok(SocketAddr::from(([127, 0, 0, 1], port.parse()?)))
}
