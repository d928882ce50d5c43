//! What stands between the service and its Redis, and can break in every way.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What is wrong with the way to Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It takes everything and answers nothing.
    Silent,
    /// It hangs up at once.
    Hangup,
    /// It refuses the password.
    WrongPassword,
}

/// A port in front of a Redis, with the fault that it is given.
pub(crate) struct Relay {
    port: u16,
    fault: watch::Sender<Fault>,
}

impl Relay {
    /// A relay to the Redis on this port, which need not be there while there is a fault.
    pub(crate) async fn start(redis: u16, fault: Fault) -> Relay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (fault, mut faults) = watch::channel(fault);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let now = *faults.borrow_and_update();
                tokio::spawn(carry(stream, redis, now, faults.clone()));
            }
        });
        Relay { port, fault }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Breaks the way in this manner, for connections that are there too.
    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

/// Carries one connection until the fault changes; a silent one is kept until it changes again.
async fn carry(
    mut stream: TcpStream,
    redis: u16,
    fault: Fault,
    mut faults: watch::Receiver<Fault>,
) {
    match fault {
        Fault::None => {
            let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, redis)).await else {
                return;
            };
            tokio::select! {
                _ = copy_bidirectional(&mut stream, &mut server) => {}
                _ = faults.changed() => {}
            }
            if *faults.borrow_and_update() == Fault::Silent {
                let _ = faults.changed().await;
            }
        }
        Fault::Silent => {
            let _ = faults.changed().await;
        }
        Fault::Hangup => {}
        Fault::WrongPassword => {
            let mut bytes = [0; 4_096];
            while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {
                let refusal = b"-WRONGPASS invalid username-password pair\r\n";
                if *faults.borrow() != fault || stream.write_all(refusal).await.is_err() {
                    return;
                }
            }
        }
    }
}
