//! A limit on the messages of a stream.

mod metered;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tidegate::{Limiter, Store};
use tidegate_middleware::{Asked, OnStoreError, PeerIp, Refused};
use tonic::Status;
use tonic::body::Body;
use tower_layer::Layer;
use tower_service::Service;

use crate::grpc::status;
use crate::head::RequestHead;
use crate::key::Extractor;
use crate::rules::{Rule, Rules};
use metered::Metered;

/// Limits the messages that a gRPC client sends, in streams as in single calls.
///
/// Each message is counted as it arrives. The first one too many ends the stream for the service: its
/// next message is the error RESOURCE_EXHAUSTED `rate limit exceeded`, which a method that gives it on
/// to the client has answered in full. Only what a client sends is counted, not what it is sent.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Limiter, MemoryStore, Policy};
/// use tidegate_tower::{MessageLimitLayer, PeerIp};
///
/// let policy = Policy::new("messages", [Limit::quota("messages", "50/s")?])?;
/// let limiter = Limiter::new(MemoryStore::new(), policy);
/// let layer = MessageLimitLayer::new(limiter, PeerIp::default());
/// let server = tonic::transport::Server::builder().layer(layer);
/// # let _ = server;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MessageLimitLayer<S, K = PeerIp> {
    limiter: Arc<Limiter<S>>,
    rule: Rule<K>,
    stance: OnStoreError,
}

impl<S, K> Clone for MessageLimitLayer<S, K> {
    fn clone(&self) -> Self {
        let limiter = Arc::clone(&self.limiter);
        MessageLimitLayer { limiter, rule: self.rule.clone(), stance: self.stance }
    }
}

impl<S: Store, K: Extractor> MessageLimitLayer<S, K> {
    /// Limits messages by this limiter, for the key that `key` finds in the request that begins the
    /// stream.
    #[must_use]
    pub fn new(limiter: impl Into<Arc<Limiter<S>>>, key: K) -> MessageLimitLayer<S, K> {
        let limiter = limiter.into();
        let policy = Arc::new(limiter.policy().clone());
        let rule = Rule::new(policy, key);
        MessageLimitLayer { limiter, rule, stance: OnStoreError::default() }
    }

    /// What happens to messages when the store cannot answer; by default the stream ends with
    /// UNAVAILABLE.
    #[must_use]
    pub fn on_store_error(self, stance: OnStoreError) -> Self {
        MessageLimitLayer { stance, ..self }
    }
}

impl<S: Store + 'static, K> MessageLimitLayer<S, K> {
    /// A body whose messages are counted.
    fn meter(&self, body: Body, asked: Asked<'static>) -> Body {
        Body::new(Metered::new(body, Arc::clone(&self.limiter), asked, self.stance))
    }
}

impl<S, K> fmt::Debug for MessageLimitLayer<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageLimitLayer").field("stance", &self.stance).finish_non_exhaustive()
    }
}

impl<S, K, T> Layer<T> for MessageLimitLayer<S, K> {
    type Service = MessageLimit<T, S, K>;

    fn layer(&self, inner: T) -> Self::Service {
        MessageLimit { inner, layer: self.clone() }
    }
}

/// A service whose clients send no more messages than their limits allow.
#[derive(Debug)]
pub struct MessageLimit<T, S, K = PeerIp> {
    inner: T,
    layer: MessageLimitLayer<S, K>,
}

impl<T: Clone, S, K> Clone for MessageLimit<T, S, K> {
    fn clone(&self) -> Self {
        MessageLimit { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<T, S, K, C> Service<Request<Body>> for MessageLimit<T, S, K>
where
    T: Service<Request<Body>, Response = Response<C>>,
    C: Default,
    S: Store + 'static,
    K: Extractor,
{
    type Response = Response<C>;
    type Error = T::Error;
    type Future = MessageFuture<T::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut asked = Asked::default();
        if let Err(reason) = self.layer.rule.ask(&RequestHead::of(&request), &mut asked) {
            let status = status(&Refused::BadRequest(reason.as_str()));
            return MessageFuture { kind: Kind::Refused { status: Some(status) } };
        }
        let request = match asked.is_empty() {
            true => request,
            false => request.map(|body| self.layer.meter(body, asked.into_owned())),
        };
        MessageFuture { kind: Kind::Called { future: self.inner.call(request) } }
    }
}

pin_project! {
    /// The answer of a [`MessageLimit`] service.
    pub struct MessageFuture<F> {
        #[pin]
        kind: Kind<F>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F> {
        Called { #[pin] future: F },
        Refused { status: Option<Status> },
    }
}

impl<F, C, E> Future for MessageFuture<F>
where
    F: Future<Output = Result<Response<C>, E>>,
    C: Default,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match self.project().kind.project() {
            KindProjection::Called { future } => future.poll(context),
            KindProjection::Refused { status } => {
                let status = status.take().expect("polled after it was ready");
                Poll::Ready(Ok(status.into_http()))
            }
        }
    }
}
