//! The messages of `ratelimiter.v1`, as far as a load driver and a bare server need them.

use bytes::Bytes;

pub const SERVICE: &str = "ratelimiter.v1.RateLimiter";

#[derive(Clone, PartialEq, prost::Message)]
pub struct AllowRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    #[prost(double, tag = "2")]
    pub tokens: f64,
    #[prost(string, tag = "3")]
    pub policy: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AllowResponse {
    #[prost(bool, tag = "1")]
    pub allowed: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CheckRequest {
    #[prost(message, repeated, tag = "1")]
    pub checks: Vec<AllowRequest>,
    /// 1: each check on its own.
    #[prost(int32, tag = "2")]
    pub mode: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CheckResponse {
    #[prost(bool, tag = "1")]
    pub allowed: bool,
    #[prost(message, repeated, tag = "3")]
    pub decisions: Vec<AllowResponse>,
}
