//! Whom a request is counted for, once a framework has been asked what is known of it.

mod address;
mod extension;
mod header;

pub use address::{ForwardedKey, PeerIp};
pub use extension::Extension;
pub use header::HeaderKey;
