//! Opening one connection and seeing that it answers.

use std::future::Future;
use std::io;
use std::pin::Pin;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ErrorKind, RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::config::{Address, RedisConfig};

/// What reads and writes a connection while it is polled, and ends when the connection does.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where to connect, and as whom.
pub(super) struct Target {
    address: Address,
    login: RedisConnectionInfo,
}

impl Target {
    pub(super) fn new(config: &RedisConfig) -> Target {
        let mut login = RedisConnectionInfo::default().set_db(config.db.into());
        if let Some(username) = &config.username {
            login = login.set_username(username);
        }
        if let Some(password) = &config.password {
            login = login.set_password(password.reveal());
        }
        Target { address: config.address.clone(), login }
    }

    /// A connection that has logged in and answered a PING.
    pub(super) async fn open(&self) -> RedisResult<(MultiplexedConnection, Driver)> {
        let (connection, mut driver) = match &self.address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                // Calls are small, and each is waited for.
                stream.set_nodelay(true)?;
                self.login(stream).await?
            }
            Address::Unix(path) => self.login(UnixStream::connect(path).await?).await?,
        };
        tokio::select! {
            () = &mut driver => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            answer = ping(connection.clone()) => answer.map(|()| (connection, driver)),
        }
    }

    async fn login<S>(&self, stream: S) -> RedisResult<(MultiplexedConnection, Driver)>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // Deadlines are the callers' own.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&self.login, stream, config).await?;
        Ok((connection, Box::pin(driver)))
    }
}

/// Whether the server answers and knows us. A user who may not PING is known all the same.
pub(super) async fn ping(mut connection: MultiplexedConnection) -> RedisResult<()> {
    let answer: Result<(), RedisError> = redis::cmd("PING").query_async(&mut connection).await;
    match answer {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => Ok(()),
        answer => answer,
    }
}
