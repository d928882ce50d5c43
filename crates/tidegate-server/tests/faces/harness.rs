//! A server in this process, on ports the system chose, with a clock that stands still.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tidegate::{
    Limit, ManualClock, MemoryConfig, MemoryStore, Policy, PolicyTable, Span, Timestamp,
};
use tidegate_server::backend::Backend;
use tidegate_server::proto::v1::rate_limiter_client::RateLimiterClient;
use tidegate_server::serve::{Addresses, Server};
use tidegate_server::service::Service;
use tidegate_server::settings::{HeaderDialect, Listen, Settings, Stance, StoreSettings};
use tidegate_server::shutdown::{self, Stopper};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

/// Where every test's time begins: a whole number of minutes, hours and days.
pub(crate) const START: Timestamp = Timestamp::from_secs(20_000 * 86_400);

/// A server that runs.
pub(crate) struct Running {
    pub(crate) at: Addresses,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) service: Arc<Service>,
    pub(crate) stopper: Stopper,
    pub(crate) task: JoinHandle<()>,
}

/// Settings of these policies, on ports of the system's choice.
pub(crate) fn settings(policies: impl IntoIterator<Item = Policy>) -> Settings {
    let local = Listen { host: Ipv4Addr::LOCALHOST.to_string(), port: 0 };
    Settings {
        source: "a test".into(),
        http: local.clone(),
        grpc: local.clone(),
        metrics: Some(local),
        store: StoreSettings::Memory(MemoryConfig::default()),
        on_store_error: Stance::Deny,
        ready_requires_store: false,
        ratelimit_headers: HeaderDialect::Draft11,
        drain_delay: Span::ZERO,
        policies: PolicyTable::new(policies),
        notes: Vec::new(),
    }
}

/// A policy of these limits.
pub(crate) fn policy(name: &str, limits: impl IntoIterator<Item = Limit>) -> Policy {
    Policy::new(name, limits).expect("a policy")
}

/// A policy of one bucket named `only`.
pub(crate) fn bucket(name: &str, quota: &str) -> Policy {
    policy(name, [Limit::quota("only", quota).expect("a quota")])
}

/// A server of these policies in memory, whose time stands at [`START`].
pub(crate) async fn start(policies: impl IntoIterator<Item = Policy>) -> Running {
    start_with(&settings(policies)).await
}

/// A server of these settings in memory, whose time stands at [`START`].
pub(crate) async fn start_with(settings: &Settings) -> Running {
    let clock = Arc::new(ManualClock::new(START));
    let store = MemoryStore::with_clock(MemoryConfig::default(), Arc::clone(&clock));
    let server = Server::open(settings, Backend::other(store)).expect("ports");
    // To the service this store could be away; a first look makes it ready before the first test asks.
    server.service().probe().await;
    Running { clock, ..start_server(server) }
}

/// A server of these settings over this backend.
pub(crate) async fn start_over(settings: &Settings, backend: Backend) -> Running {
    start_server(Server::open(settings, backend).expect("ports"))
}

/// Lets a server run.
fn start_server(server: Server) -> Running {
    let (stopper, stopped) = shutdown::channel();
    Running {
        at: server.addresses().expect("addresses"),
        clock: Arc::default(),
        service: Arc::clone(server.service()),
        stopper,
        task: tokio::spawn(server.run(stopped)),
    }
}

impl Running {
    /// A connection to the REST port.
    pub(crate) async fn http(&self) -> Http {
        Http::connect(self.at.http).await
    }

    /// One request to `/limit` with these headers.
    pub(crate) async fn limit(&self, headers: &[(&str, &str)]) -> Reply {
        self.http().await.send("POST", "/limit", headers, b"").await
    }

    /// One body for `/v1/check`.
    pub(crate) async fn check(&self, body: &str) -> Reply {
        self.http().await.send("POST", "/v1/check", &[], body.as_bytes()).await
    }

    /// One GET on the REST port.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.http().await.send("GET", path, &[], b"").await
    }

    /// One scrape.
    pub(crate) async fn scrape(&self, headers: &[(&str, &str)]) -> Reply {
        let port = self.at.metrics.expect("metrics are on");
        Http::connect(port).await.send("GET", "/metrics", headers, b"").await
    }

    /// A connection to the gRPC port.
    pub(crate) async fn channel(&self) -> Channel {
        let uri = format!("http://{}", self.at.grpc);
        Endpoint::from_shared(uri).expect("a uri").connect().await.expect("a connection")
    }

    /// A gRPC client.
    pub(crate) async fn grpc(&self) -> RateLimiterClient<Channel> {
        RateLimiterClient::new(self.channel().await)
    }
}

/// An HTTP/1.1 connection, and no more of a client than tests need to see every byte.
pub(crate) struct Http(BufReader<TcpStream>);

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Http {
    pub(crate) async fn connect(at: SocketAddr) -> Http {
        let stream = TcpStream::connect(at).await.expect("a connection");
        stream.set_nodelay(true).expect("a connection");
        Http(BufReader::new(stream))
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        self.write(head.as_bytes()).await;
        self.write(b"\r\n").await;
        self.write(body).await;
        self.read(method != "HEAD").await.expect("an answer")
    }

    /// Writes bytes as they are. A server may have refused already what it has not read.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// Says that no more will be written. Answers can still be read.
    pub(crate) async fn finish(&mut self) {
        self.0.shutdown().await.expect("an open connection");
    }

    /// Waits for the end of the connection, whatever comes before it.
    pub(crate) async fn ended(&mut self) {
        // Cut off is ended too.
        let _ = self.0.read_to_end(&mut Vec::new()).await;
    }

    /// Whether the server closed the connection, as far as its client can know by now.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.0.get_ref().try_read(&mut [0]), Ok(0))
    }

    /// The next answer; none when the connection ended instead.
    pub(crate) async fn read(&mut self, has_body: bool) -> Option<Reply> {
        let status = self.line().await?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply =
            Reply { status: status.split(' ').nth(1)?.parse().ok()?, headers, body: String::new() };
        let length = reply.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.filter(|_| has_body).unwrap_or(0)];
        self.0.read_exact(&mut body).await.ok()?;
        reply.body = String::from_utf8(body).expect("text");
        Some(reply)
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.0.read_line(&mut line).await.ok()?;
        (count > 0).then(|| line.trim_end().to_owned())
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}
