//! The service as a whole: opens the ports, runs the faces, and stops in order.

mod announce;

use std::future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::accept::{self, Cores, Protocol};
use crate::backend::Backend;
use crate::constants::PROBE_EVERY;
use crate::face::grpc::{self, Grpc, Health};
use crate::face::rest::Rest;
use crate::face::scrape::Scrape;
use crate::logging;
use crate::service::Service;
use crate::settings::{HeaderDialect, Listen, Settings};
use crate::shutdown::{self, Shutdown, Signals, Stopper};

/// Runs the service by these settings until SIGINT or SIGTERM, logging as it goes.
///
/// # Errors
///
/// [`ServeError`] when the runtime, the store or a port cannot be had.
pub fn run(settings: &Settings) -> Result<(), ServeError> {
    let logging = logging::init();
    announce::settings(settings);
    logging.complain();
    // This thread opens the door: it accepts connections and gives each to a core. It also answers
    // scrapes, so that none holds up a decision in memory; and it looks after the connection to Redis,
    // which the first call opens, and that is its probe.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Runtime)?;
    let cores = Cores::start().map_err(ServeError::Runtime)?;
    let served = runtime.block_on(until_signal(settings, &cores));
    // What outlived the grace is cut off; nothing of it may keep the process.
    runtime.shutdown_background();
    served
}

async fn until_signal(settings: &Settings, cores: &Cores) -> Result<(), ServeError> {
    // Before anyone can know that the service runs, and so ask it to stop.
    let signals = Signals::listen();
    let server = Server::open(settings, Backend::of(&settings.store))?;
    announce::ports(&server);
    let (stopper, stopped) = shutdown::channel();
    let service = Arc::clone(server.service());
    let drain_delay = settings.drain_delay.into();
    tokio::select! {
        () = server.run_on(cores, stopped) => {}
        () = stop(signals, &service, drain_delay, &stopper) => {}
    }
    tracing::info!("stopped");
    Ok(())
}

/// Stops in order on a first signal; a second cuts the drain short, and one after that ends this.
async fn stop(
    mut signals: io::Result<Signals>,
    service: &Service,
    delay: Duration,
    stopper: &Stopper,
) {
    let mut signal = async || match &mut signals {
        Ok(signals) => signals.next().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match signal().await {
        Ok(name) => tracing::info!("stopping on {name}"),
        Err(error) => {
            tracing::error!("cannot wait for signals, stopping: {error}");
            drain(service, delay, stopper).await;
            return future::pending().await;
        }
    }
    tokio::select! {
        () = drain(service, delay, stopper) => {}
        Ok(name) = signal() => {
            tracing::info!("draining no longer on {name}");
            stopper.stop();
        }
    }
    match signal().await {
        Ok(name) => tracing::warn!("cut off what is in flight on {name}"),
        Err(_) => future::pending().await,
    }
}

/// Fails readiness, goes on serving for `delay`, then gives the word to stop.
pub async fn drain(service: &Service, delay: Duration, stopper: &Stopper) {
    service.readiness().drain();
    stopper.leave();
    sleep(delay).await;
    stopper.stop();
}

/// Why the service does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The runtime could not be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] io::Error),
    /// A port could not be opened.
    #[error("cannot listen on {listen} for {what}: {error}; choose another address with {key}")]
    Listen {
        /// Where it should have been.
        listen: Listen,
        /// What it is for.
        what: &'static str,
        /// The flag and the key of the configuration that set it.
        key: &'static str,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

/// The service with its ports open.
pub struct Server {
    service: Arc<Service>,
    dialect: HeaderDialect,
    http: TcpListener,
    grpc: TcpListener,
    metrics: Option<TcpListener>,
}

impl Server {
    /// Opens the ports of these settings over this backend. Must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ServeError::Listen`] when a port cannot be opened.
    pub fn open(settings: &Settings, backend: Backend) -> Result<Server, ServeError> {
        let service = Service::new(&settings.policies, backend, settings.on_store_error);
        service.readiness().require_store(settings.ready_requires_store);
        let metrics = settings.metrics.as_ref();
        Ok(Server {
            service: Arc::new(service),
            dialect: settings.ratelimit_headers,
            http: open(&settings.http, "REST", "--listen-http or listen.http")?,
            grpc: open(&settings.grpc, "gRPC", "--listen-grpc or listen.grpc")?,
            metrics: metrics
                .map(|at| open(at, "metrics", "--listen-metrics or metrics.listen"))
                .transpose()?,
        })
    }

    /// What decides.
    #[must_use]
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Where the ports are: REST, gRPC, and metrics when they are on.
    ///
    /// # Errors
    ///
    /// When the system cannot say.
    pub fn addresses(&self) -> io::Result<Addresses> {
        Ok(Addresses {
            http: self.http.local_addr()?,
            grpc: self.grpc.local_addr()?,
            metrics: self.metrics.as_ref().map(TcpListener::local_addr).transpose()?,
        })
    }

    /// Serves every port in the runtime that this is called in, until the word to stop and then what
    /// is in flight.
    pub async fn run(self, shutdown: Shutdown) {
        self.run_on(&Cores::here(), shutdown).await;
    }

    /// Serves every port until the word to stop, and then what is in flight, on all of them at the
    /// same time: requests on these cores, and everything else here.
    async fn run_on(self, cores: &Cores, shutdown: Shutdown) {
        let health = Health::default();
        let rest = Rest::new(Arc::clone(&self.service), self.dialect);
        let grpc = Grpc::new(Arc::clone(&self.service), &health, shutdown.clone());
        let scrape = Scrape::new(Arc::clone(&self.service));
        let here = Cores::here();
        let metrics = async {
            if let Some(listener) = self.metrics {
                accept::run(listener, Protocol::Any, scrape, &here, shutdown.clone()).await;
            }
        };
        tokio::join!(
            accept::run(self.http, Protocol::Any, rest, cores, shutdown.clone()),
            accept::run(self.grpc, Protocol::Http2, grpc, cores, shutdown.clone()),
            metrics,
            grpc::follow(health, Arc::clone(&self.service), shutdown.clone()),
            probe(&self.service, shutdown.clone()),
        );
    }
}

/// Where the ports are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// REST.
    pub http: SocketAddr,
    /// gRPC.
    pub grpc: SocketAddr,
    /// Metrics, when they are on.
    pub metrics: Option<SocketAddr>,
}

/// Asks a remote store whether it is there, so that readiness is right without traffic too.
async fn probe(service: &Service, mut shutdown: Shutdown) {
    if !service.is_store_remote() {
        return;
    }
    let probes = async {
        loop {
            service.probe().await;
            sleep(PROBE_EVERY).await;
        }
    };
    // A store that does not answer must not hold up the end: a probe is dropped where it waits.
    tokio::select! {
        () = probes => {}
        () = shutdown.wait() => {}
    }
}

fn open(listen: &Listen, what: &'static str, key: &'static str) -> Result<TcpListener, ServeError> {
    accept::bind(listen).map_err(|error| ServeError::Listen {
        listen: listen.clone(),
        what,
        key,
        error,
    })
}
