//! The service over real sockets: what a client sees on every face.

mod any_bytes;
mod bad_input;
mod fields;
mod grpc;
mod harness;
mod json;
mod limit;
mod messages;
mod metrics;
mod ports;
mod relay;
mod shutdown;
mod store_away;
