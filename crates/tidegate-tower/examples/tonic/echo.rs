//! A gRPC service that says what it hears, as if generated from:
//!
//! ```proto
//! service Echo {
//!   rpc Once(google.protobuf.StringValue) returns (google.protobuf.StringValue);
//!   rpc Each(stream google.protobuf.StringValue) returns (stream google.protobuf.StringValue);
//! }
//! ```

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use http::{Request, Response};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// The service.
#[derive(Clone, Copy)]
pub(crate) struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "echo.Echo";
}

/// Answers to come.
type Echoes = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

async fn once(request: tonic::Request<String>) -> Result<tonic::Response<String>, Status> {
    Ok(tonic::Response::new(request.into_inner()))
}

/// Says each message; what ends the stream of the client with an error ends its own with it.
async fn each(
    request: tonic::Request<Streaming<String>>,
) -> Result<tonic::Response<Echoes>, Status> {
    Ok(tonic::Response::new(request.into_inner().boxed()))
}

impl tower::Service<Request<Body>> for Echo {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::<String, String>::default());
            Ok(match request.uri().path() {
                "/echo.Echo/Once" => grpc.unary(service_fn(once), request).await,
                "/echo.Echo/Each" => grpc.streaming(service_fn(each), request).await,
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}
