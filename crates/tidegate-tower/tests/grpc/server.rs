//! A gRPC server behind layers, and clients of it.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use prost::Message;
use prost_types::Any;
use tidegate::{Limit, Limiter, MemoryStore, Policy};
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use tower::{Layer, Service};

use crate::echo::Echo;

pub(crate) fn limiter(quota: &str) -> Limiter<MemoryStore> {
    let policy = Policy::new("api", [Limit::quota("burst", quota).unwrap()]).unwrap();
    Limiter::new(MemoryStore::new(), policy)
}

/// Serves the echo behind this layer, on a port of its own.
pub(crate) async fn serve<L, B>(layer: L) -> SocketAddr
where
    L: Layer<Routes> + Clone + Send + 'static,
    L::Service: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    <L::Service as Service<Request<Body>>>::Future: Send,
    <L::Service as Service<Request<Body>>>::Error:
        Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let incoming = TcpIncoming::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = incoming.local_addr().unwrap();
    let server = Server::builder().layer(layer).add_service(Echo).serve_with_incoming(incoming);
    tokio::spawn(server);
    address
}

/// A client of the echo.
#[derive(Clone)]
pub(crate) struct Client(tonic::client::Grpc<Channel>);

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Client {
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        Client(tonic::client::Grpc::new(channel.connect().await.unwrap()))
    }

    /// One call.
    pub(crate) async fn once(&mut self, message: &str) -> Result<tonic::Response<String>, Status> {
        self.0.ready().await.unwrap();
        let path = "/echo.Echo/Once".parse().unwrap();
        let codec = ProstCodec::<String, String>::default();
        self.0.unary(tonic::Request::new(message.to_owned()), path, codec).await
    }

    /// A stream of messages, as they are put into the channel.
    pub(crate) async fn each(
        &mut self,
    ) -> (tokio::sync::mpsc::Sender<String>, Result<Streaming<String>, Status>) {
        self.0.ready().await.unwrap();
        let path = "/echo.Echo/Each".parse().unwrap();
        let codec = ProstCodec::<String, String>::default();
        let (sender, mut receiver) = tokio::sync::mpsc::channel(100);
        let messages = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        let answer = self.0.streaming(tonic::Request::new(messages), path, codec).await;
        (sender, answer.map(tonic::Response::into_inner))
    }
}

/// `google.rpc.Status`, as its definition has it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) details: Vec<Any>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    pub(crate) retry_delay: Option<prost_types::Duration>,
}

/// `google.rpc.QuotaFailure.Violation`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Violation {
    #[prost(string, tag = "1")]
    pub(crate) subject: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
    #[prost(string, tag = "5")]
    pub(crate) quota_id: String,
    #[prost(int64, tag = "7")]
    pub(crate) quota_value: i64,
}

/// `google.rpc.QuotaFailure`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct QuotaFailure {
    #[prost(message, repeated, tag = "1")]
    pub(crate) violations: Vec<Violation>,
}

/// The message of this type among a status's details.
pub(crate) fn detail<M: Message + Default>(status: &Status, name: &str) -> Option<M> {
    let details = RpcStatus::decode(status.details()).unwrap();
    assert_eq!(details.code, status.code() as i32);
    assert_eq!(details.message, status.message());
    let url = format!("type.googleapis.com/google.rpc.{name}");
    let found = details.details.iter().find(|any| any.type_url == url)?;
    Some(M::decode(&*found.value).unwrap())
}
