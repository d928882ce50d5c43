//! Load over gRPC: calls one after another on several connections, from one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::uri::PathAndQuery;
use tokio::sync::mpsc::unbounded_channel;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::wire::{AllowRequest, AllowResponse, CheckRequest, CheckResponse};

/// How many decisions one `Check` asks for, and how many are on the way in one stream.
const BATCH: usize = 100;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `Allow`, one decision a call.
    Unary,
    /// `Stream`, with 100 decisions on the way in each.
    Stream,
    /// `Check` of 100.
    Check,
}

/// Until when a load goes on.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So long.
    Passed(Duration),
    /// Until each key was asked for once.
    Visited,
}

/// The keys, in a fixed order that jumps about, and how many decisions came back.
#[derive(Debug)]
pub struct Load {
    keys: Vec<Bytes>,
    next: AtomicUsize,
    answered: AtomicU64,
    start: Instant,
    until: Until,
    policy: String,
}

impl Load {
    /// A load over `n` keys, under this policy; an empty name means the default one.
    pub fn new(n: usize, until: Until, policy: String) -> Arc<Load> {
        // A step of an odd number walks through 2^k keys in an order no cache foresees; keys beyond
        // the count are left out.
        let room = n.next_power_of_two();
        let jump = |number: usize| number.wrapping_mul(0x9e37_79b1) & (room - 1);
        let numbers = (0..room).map(jump).filter(|number| *number < n);
        Arc::new(Load {
            keys: numbers
                .map(|number| Bytes::from(format!("user:{number:06x}")))
                .collect(),
            next: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            start: Instant::now(),
            until,
            policy,
        })
    }

    /// How many decisions came back.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// How long the load has gone on.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn request(&self) -> AllowRequest {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % self.keys.len();
        AllowRequest {
            key: self.keys[at].clone(),
            tokens: 1.0,
            policy: self.policy.clone(),
        }
    }

    fn count(&self, decisions: usize) {
        self.answered.fetch_add(decisions as u64, Ordering::Relaxed);
    }

    fn over(&self) -> bool {
        match self.until {
            Until::Passed(time) => self.start.elapsed() >= time,
            Until::Visited => self.next.load(Ordering::Relaxed) >= self.keys.len(),
        }
    }

    /// Makes calls on a connection of its own until the load is over.
    ///
    /// # Errors
    ///
    /// When there is no connection, or a call fails.
    pub async fn run(
        self: Arc<Load>,
        url: String,
        call: Call,
        at_once: usize,
    ) -> Result<(), Status> {
        let endpoint = Endpoint::from_shared(url).map_err(unavailable)?;
        let channel = endpoint
            .tcp_nodelay(true)
            .connect()
            .await
            .map_err(unavailable)?;
        let callers = (0..at_once).map(|_| {
            let grpc = Grpc::new(channel.clone());
            let load = Arc::clone(&self);
            tokio::spawn(async move {
                match call {
                    Call::Unary => load.unary(grpc).await,
                    Call::Stream => load.stream(grpc).await,
                    Call::Check => load.check(grpc).await,
                }
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller
                .await
                .map_err(|error| Status::internal(error.to_string()))??;
        }
        Ok(())
    }

    async fn unary(&self, mut grpc: Grpc<Channel>) -> Result<(), Status> {
        let path = PathAndQuery::from_static("/ratelimiter.v1.RateLimiter/Allow");
        while !self.over() {
            grpc.ready().await.map_err(unavailable)?;
            let codec = ProstCodec::<AllowRequest, AllowResponse>::default();
            grpc.unary(Request::new(self.request()), path.clone(), codec)
                .await?;
            self.count(1);
        }
        Ok(())
    }

    async fn check(&self, mut grpc: Grpc<Channel>) -> Result<(), Status> {
        let path = PathAndQuery::from_static("/ratelimiter.v1.RateLimiter/Check");
        while !self.over() {
            grpc.ready().await.map_err(unavailable)?;
            let checks = (0..BATCH).map(|_| self.request()).collect();
            let request = Request::new(CheckRequest { checks, mode: 1 });
            let codec = ProstCodec::<CheckRequest, CheckResponse>::default();
            let response = grpc.unary(request, path.clone(), codec).await?;
            self.count(response.get_ref().decisions.len());
        }
        Ok(())
    }

    async fn stream(&self, mut grpc: Grpc<Channel>) -> Result<(), Status> {
        let path = PathAndQuery::from_static("/ratelimiter.v1.RateLimiter/Stream");
        let (asks, asked) = unbounded_channel();
        (0..BATCH).for_each(|_| drop(asks.send(self.request())));
        grpc.ready().await.map_err(unavailable)?;
        let codec = ProstCodec::<AllowRequest, AllowResponse>::default();
        let request = Request::new(UnboundedReceiverStream::new(asked));
        let mut answers = grpc.streaming(request, path, codec).await?.into_inner();
        while !self.over() && answers.message().await?.is_some() {
            self.count(1);
            // A stream that the server ended is seen at the next message.
            let _ = asks.send(self.request());
        }
        Ok(())
    }
}

fn unavailable(error: impl std::fmt::Display) -> Status {
    Status::unavailable(error.to_string())
}
