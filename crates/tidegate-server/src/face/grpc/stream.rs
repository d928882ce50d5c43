//! `Stream`: requests answered as they come, in order. What the connection delivered together is
//! decided together.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::Pin;

use futures_util::{FutureExt, Stream, stream};
use hyper::Request;
use hyper::body::Incoming;
use tonic::server::StreamingService;
use tonic::{Status, Streaming};

use super::reply::Reply;
use super::{Limiter, convert, encode, method};
use crate::constants::MAX_GATHERED;
use crate::face::Refused;
use crate::proto::v1 as wire;
use crate::service::{CheckRequest, Joint, Refusal};
use crate::shutdown::Shutdown;

/// Answers one call.
pub(super) async fn answer(limiter: &Limiter, request: Request<Incoming>) -> Reply {
    let call = Call(limiter.clone());
    limiter.seen_to(method::bounded().streaming(call, request).await)
}

/// The method as tonic calls it.
struct Call(Limiter);

impl StreamingService<wire::AllowRequest> for Call {
    type Response = Vec<u8>;
    type ResponseStream = Answers;
    type Future = Ready<Result<tonic::Response<Answers>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<wire::AllowRequest>>) -> Self::Future {
        ready(Ok(tonic::Response::new(answers(self.0.clone(), request.into_inner()))))
    }
}

/// The answers as their messages, in the order of the requests; an error ends them.
type Answers = Pin<Box<dyn Stream<Item = Result<Vec<u8>, Status>> + Send + 'static>>;

/// Answers every request that comes in.
fn answers(limiter: Limiter, inbound: Streaming<wire::AllowRequest>) -> Answers {
    let conversation =
        Conversation { limiter, inbound, ready: VecDeque::new(), end: None, is_over: false };
    Box::pin(stream::unfold(conversation, |mut conversation| async {
        let next = conversation.next().await?;
        Some((next, conversation))
    }))
}

struct Conversation {
    limiter: Limiter,
    inbound: Streaming<wire::AllowRequest>,
    /// Answers that are still to be sent.
    ready: VecDeque<Vec<u8>>,
    /// What ends the stream once they are.
    end: Option<Status>,
    is_over: bool,
}

impl Conversation {
    async fn next(&mut self) -> Option<Result<Vec<u8>, Status>> {
        loop {
            if let Some(answer) = self.ready.pop_front() {
                return Some(Ok(answer));
            }
            if let Some(end) = self.end.take() {
                self.is_over = true;
                return Some(Err(end));
            }
            if self.is_over {
                return None;
            }
            let asked = self.gather().await;
            self.decide(&asked).await;
        }
    }

    /// Waits for a request, and takes those that came with it.
    async fn gather(&mut self) -> Vec<wire::AllowRequest> {
        let mut asked = Vec::new();
        let mut next = first(&mut self.inbound, &mut self.limiter.shutdown).await;
        loop {
            match next {
                Ok(Some(request)) => asked.push(request),
                Ok(None) => {
                    self.is_over = true;
                    return asked;
                }
                Err(status) => {
                    self.end = Some(self.limiter.reread(status));
                    return asked;
                }
            }
            if asked.len() == MAX_GATHERED {
                return asked;
            }
            match self.inbound.message().now_or_never() {
                Some(message) => next = message,
                None => return asked,
            }
        }
    }

    /// Decides each request on its own; the first that is refused ends the stream, after the
    /// answers to those before it.
    async fn decide(&mut self, asked: &[wire::AllowRequest]) {
        let mut requests: Vec<CheckRequest<'_>> = Vec::with_capacity(asked.len());
        for message in asked {
            match convert::request(message, "") {
                Ok(request) => requests.push(request),
                Err(mistake) => {
                    self.end = Some(self.limiter.refuse(&mistake.into()));
                    break;
                }
            }
        }
        let service = &self.limiter.service;
        while !requests.is_empty() {
            match service.decide(service.rules(), &requests, Joint::Each).await {
                Ok(answers) => {
                    self.ready.extend(answers.iter().map(|answer| encode::message(&answer)));
                    return;
                }
                Err(refusal) => {
                    let refused = Refused::of(&refusal, |_| "policy".into());
                    self.end = Some(self.limiter.refuse(&refused));
                    // Nothing was asked of the store yet: those before it still are.
                    let answerable = match refusal {
                        Refusal::UnknownPolicy { place, .. } => place,
                        Refusal::Store(_) => 0,
                    };
                    requests.truncate(answerable);
                }
            }
        }
    }
}

/// The next message. When the service stops, a stream that has none waiting ends, so that it does
/// not hold up the others; its client is told to try elsewhere.
async fn first(
    inbound: &mut Streaming<wire::AllowRequest>,
    shutdown: &mut Shutdown,
) -> Result<Option<wire::AllowRequest>, Status> {
    tokio::select! {
        biased;
        message = inbound.message() => message,
        () = shutdown.wait() => Err(Status::unavailable("the service is stopping")),
    }
}
