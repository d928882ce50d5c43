//! The methods of `ratelimiter.v1.RateLimiter` that are asked once and answer once.

use std::marker::PhantomData;
use std::pin::Pin;

use hyper::Request;
use hyper::body::Incoming;
use prost::Message;
use tonic::Status;
use tonic::server::{Grpc, UnaryService};

use super::codec::Codec;
use super::reply::{self, Reply};
use super::unary::{self, Opened};
use super::{Limiter, convert, encode};
use crate::constants::MAX_GRPC_MESSAGE;
use crate::face::Refused;
use crate::proto::v1 as wire;
use crate::service::CheckRequest;

/// One method.
pub(super) trait Method: Send + 'static {
    /// The message that asks.
    type Asked: Message + Default + Send + Sync + 'static;

    /// Decides, and writes the message that answers behind what `message` holds.
    fn decide(
        limiter: &Limiter,
        asked: &Self::Asked,
        message: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, Refused>> + Send;
}

/// `Allow`: one request.
pub(super) struct Allow;

impl Method for Allow {
    type Asked = wire::AllowRequest;

    async fn decide(
        limiter: &Limiter,
        asked: &wire::AllowRequest,
        mut message: Vec<u8>,
    ) -> Result<Vec<u8>, Refused> {
        let request = convert::request(asked, "")?;
        let service = &limiter.service;
        let answer = service.decide_one(service.rules(), request).await;
        let answer = answer.map_err(|refusal| Refused::of(&refusal, |_| "policy".into()))?;
        encode::answer(&mut message, &answer);
        Ok(message)
    }
}

/// `Check`: a batch.
pub(super) struct Check;

impl Method for Check {
    type Asked = wire::CheckRequest;

    async fn decide(
        limiter: &Limiter,
        asked: &wire::CheckRequest,
        mut message: Vec<u8>,
    ) -> Result<Vec<u8>, Refused> {
        let joint = convert::joint(asked)?;
        let requests: Vec<CheckRequest<'_>> = convert::requests(asked)?;
        let field = |place: usize| format!("checks[{place}].policy");
        let service = &limiter.service;
        let answers = service.decide(service.rules(), &requests, joint).await;
        let answers = answers.map_err(|refusal| Refused::of(&refusal, field))?;
        message.reserve(encode::USUAL * answers.len());
        encode::answers(&mut message, &answers);
        Ok(message)
    }
}

/// Answers one call.
pub(super) async fn answer<M: Method>(limiter: &Limiter, mut request: Request<Incoming>) -> Reply {
    let asked = match unary::read(&mut request).await {
        Ok(asked) => asked,
        // Rare, and large: not kept room for in every call.
        Err(odd) => return Box::pin(unusual::<M>(limiter, odd.put_back(request))).await,
    };
    match M::decide(limiter, &asked, unary::frame(encode::USUAL)).await {
        Ok(message) => reply::message(unary::close(message)),
        Err(refused) => reply::status(limiter.refuse(&refused)),
    }
}

/// Lets tonic answer one call. A message that cannot be read never gets to its method: tonic's answer
/// to it is seen to.
async fn unusual<M: Method>(limiter: &Limiter, request: Request<Opened>) -> Reply {
    let call = Call::<M>(limiter.clone(), PhantomData);
    limiter.seen_to(bounded::<M::Asked>().unary(call, request).await)
}

/// tonic's server for one call, within the bounds of messages.
pub(super) fn bounded<M: Message + Default + 'static>() -> Grpc<Codec<M>> {
    Grpc::new(Codec::default())
        .apply_max_message_size_config(Some(MAX_GRPC_MESSAGE), Some(usize::MAX))
}

/// A method as tonic calls it.
struct Call<M>(Limiter, PhantomData<fn(M)>);

impl<M: Method> UnaryService<M::Asked> for Call<M> {
    type Response = Vec<u8>;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Vec<u8>>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<M::Asked>) -> Self::Future {
        let limiter = self.0.clone();
        Box::pin(async move {
            let answer = M::decide(&limiter, request.get_ref(), Vec::new()).await;
            answer.map(tonic::Response::new).map_err(|refused| limiter.refuse(&refused))
        })
    }
}
