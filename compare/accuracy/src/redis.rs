//! What one key's state takes in Redis, by Redis's own account.

use std::sync::Arc;

use tidegate::{Check, Cost, Key, Limit, ManualClock, Policy, Span, Store};
use tidegate_redis::{Address, RedisConfig, RedisStore};
use tidegate_testkit::RedisServer;
use tokio::runtime::Runtime;

use crate::memory::REQUESTS;
use crate::traffic::{START, Traffic};

/// A server of this program's own; it ends with this.
pub struct Redis {
    server: RedisServer,
    runtime: Runtime,
}

impl Redis {
    pub fn start() -> std::io::Result<Redis> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Redis {
            server: RedisServer::start(&[]),
            runtime,
        })
    }

    /// Bytes of one key, its name included, after a full window of Poisson traffic.
    pub fn bytes_per_key(&self, limit: Limit) -> Result<u64, Box<dyn std::error::Error>> {
        self.server.command(&["FLUSHALL"]);
        let clock = Arc::new(ManualClock::new(START));
        let address = Address::Tcp {
            host: "127.0.0.1".into(),
            port: self.server.port(),
        };
        let config = RedisConfig {
            address,
            timeout: Span::from_secs(5),
            ..RedisConfig::default()
        };
        let policy = Policy::new("accuracy", [limit])?;
        let played: Result<(), Box<dyn std::error::Error>> = self.runtime.block_on(async {
            let store = RedisStore::with_test_clock(config, Arc::clone(&clock));
            for at in &Traffic::Poisson.offered()[..REQUESTS] {
                clock.set(*at);
                let check = Check::take(Key::new("user:00002a")?, &policy, Cost::ONE);
                store.take(&[check]).await?;
            }
            Ok(())
        });
        played?;
        let names = self.server.command(&["KEYS", "*"]);
        let mut bytes = 0;
        for name in names.lines() {
            let used = self
                .server
                .command(&["MEMORY", "USAGE", name, "SAMPLES", "0"]);
            bytes += used.trim().parse::<u64>()?;
        }
        Ok(bytes)
    }
}
