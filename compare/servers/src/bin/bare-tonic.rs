//! Bare tonic: `Allow` reads its request and always allows; the ceiling for a gRPC service.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use servers::wire::{AllowRequest, AllowResponse, SERVICE};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The handler.
struct Allow;

impl UnaryService<AllowRequest> for Allow {
    type Response = AllowResponse;
    type Future = Ready<Result<Response<AllowResponse>, Status>>;

    fn call(&mut self, request: Request<AllowRequest>) -> Self::Future {
        let allowed = !request.get_ref().key.is_empty();
        ready(Ok(Response::new(AllowResponse { allowed })))
    }
}

/// The service, as tonic's generated code would have it.
#[derive(Clone)]
struct Bare;

impl NamedService for Bare {
    const NAME: &'static str = SERVICE;
}

impl Service<http::Request<Body>> for Bare {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(Allow, request).await) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder().add_service(Bare);
    server.serve(servers::address()?).await?;
    Ok(())
}
