//! Where state is kept: `store` and `backends`.

use tidegate::{MemoryConfig, Overflow, Span};
use tidegate_redis::{RedisConfig, Secret};

use super::document::Node;
use super::keys;
use super::reader::{Fields, Reader};
use super::{redis_address, secret};
use crate::constants::{MAX_PREFIX, MAX_SHARDS, TIMEOUT_MAX, TIMEOUT_MIN};
use crate::settings::StoreSettings;

/// The chosen store, and the original's `default_ttl` if the store has one and Redis is chosen.
pub(super) struct Backends {
    pub(super) store: StoreSettings,
    pub(super) redis_ttl: Option<Span>,
}

/// The name of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Memory,
    Redis,
}

impl<'a> Reader<'a> {
    pub(super) fn backends(&mut self, top: Fields<'_, 'a>) -> Option<Backends> {
        let kinds = [("in_memory", Kind::Memory), ("redis", Kind::Redis)];
        let kind = match top.value("store") {
            Some(node) => self.choice(node, "store", &kinds),
            None => Some(Kind::Memory),
        };
        let backends = match top.value("backends") {
            Some(node) => Some(self.fields(node, "backends", keys::BACKENDS)?),
            None => None,
        };
        let section = |name| backends.and_then(|fields| fields.value(name));
        let memory = self.memory(section("in_memory"));
        let redis = self.redis(section("redis"), kind == Some(Kind::Redis));
        let (kind, memory, (redis, redis_ttl)) = (kind?, memory?, redis?);
        let (used, unused) = match kind {
            Kind::Memory => ("in_memory", "redis"),
            Kind::Redis => ("redis", "in_memory"),
        };
        if section(unused).is_some() {
            self.info(format!("backends.{unused} is not used: store is {used}"));
        }
        let store = match kind {
            Kind::Memory => StoreSettings::Memory(memory),
            Kind::Redis => StoreSettings::Redis(redis),
        };
        let redis_ttl = redis_ttl.filter(|_| kind == Kind::Redis);
        Some(Backends { store, redis_ttl })
    }

    fn memory(&mut self, node: Option<&Node<'a>>) -> Option<MemoryConfig> {
        let mut config = MemoryConfig::default();
        let Some(node) = node else {
            return Some(config);
        };
        let fields = self.fields(node, "backends.in_memory", keys::IN_MEMORY)?;
        if let Some(node) = fields.value("max_keys") {
            let most = u64::try_from(usize::MAX >> 8).unwrap_or(u64::MAX);
            let max_keys = self.whole(node, "max_keys", (1, most))?;
            config.max_keys = usize::try_from(max_keys).ok()?;
        }
        if let Some(node) = fields.value("overflow") {
            let words = [
                ("shared", Overflow::Shared),
                ("deny", Overflow::Deny),
                ("allow", Overflow::Allow),
            ];
            config.overflow = self.choice(node, "overflow", &words)?;
        }
        config.shards = self.shards(fields)?;
        // The original's times change no decision, but must be times.
        for name in ["default_ttl", "eviction_time"] {
            if let Some(node) = fields.value(name) {
                self.span_or_zero(node, name)?;
            }
        }
        Some(config)
    }

    /// The number of shards, by either of its names. The inner value is none when it is not given.
    fn shards(&mut self, fields: Fields<'_, 'a>) -> Option<Option<usize>> {
        let names = ["shards_count", "shards"];
        let given = names.map(|name| fields.value(name));
        let node = match given {
            [None, None] => return Some(None),
            [Some(node), None] | [None, Some(node)] => node,
            [Some(one), Some(other)] if one.origin.rank() != other.origin.rank() => {
                match one.origin.rank() > other.origin.rank() {
                    true => one,
                    false => other,
                }
            }
            [Some(_), Some(other)] => {
                self.refuse(other, "`shards` and `shards_count` are the same; keep one");
                return None;
            }
        };
        let count = self.whole(node, "shards_count", (1, MAX_SHARDS))?;
        if !count.is_power_of_two() {
            let (below, above) = (count.next_power_of_two() / 2, count.next_power_of_two());
            self.refuse_with(
                node,
                format!("shards_count must be a power of two, not {count}"),
                format!("write {below} or {above}"),
            );
            return None;
        }
        Some(usize::try_from(count).ok())
    }

    /// How to reach Redis, and the original's `default_ttl`.
    fn redis(
        &mut self,
        node: Option<&Node<'a>>,
        used: bool,
    ) -> Option<(RedisConfig, Option<Span>)> {
        let mut config = RedisConfig::default();
        let Some(node) = node else {
            return Some((config, None));
        };
        let fields = self.fields(node, "backends.redis", keys::REDIS)?;
        let url_db = self.redis_address(fields, used, &mut config)?;
        self.redis_login(fields, used, url_db, &mut config)?;
        if let Some(node) = fields.value("prefix") {
            config.prefix = self.prefix(node)?;
        }
        if let Some(node) = fields.value("timeout") {
            config.timeout = self.timeout(node)?;
        }
        let ttl = match fields.value("default_ttl") {
            Some(node) => Some(self.span_or_zero(node, "default_ttl")?),
            None => None,
        };
        Some((config, ttl))
    }

    /// The address, with what a URL says besides. The inner value is the database, if the URL names one.
    fn redis_address(
        &mut self,
        fields: Fields<'_, 'a>,
        used: bool,
        config: &mut RedisConfig,
    ) -> Option<Option<u32>> {
        let Some(node) = fields.value("addr") else {
            return Some(None);
        };
        let (text, _) = self.scalar(node, "addr", "an address")?;
        let read = match redis_address::parse(text) {
            Ok(read) => read,
            Err(reason) => {
                self.refuse(node, format!("addr: {reason}"));
                return None;
            }
        };
        for (field, in_url) in [
            ("user", read.user.is_some()),
            ("password", read.password.is_some()),
            ("db", read.db.is_some()),
        ] {
            self.check_once(fields, field, in_url, node)?;
        }
        config.address = read.address;
        config.username = read.user;
        config.db = read.db.unwrap_or(0);
        config.password = match read.password {
            Some(text) if used => Some(self.url_password(node, &text)?),
            _ => None,
        };
        Some(read.db)
    }

    fn url_password(&mut self, node: &Node<'a>, text: &str) -> Option<Secret> {
        let resolved = secret::resolve(text, self.environment);
        resolved.map_err(|reason| self.refuse(node, format!("addr: {reason}"))).ok()
    }

    /// Refuses what is said both in the address and in a field of its own, at the same rank.
    fn check_once(
        &mut self,
        fields: Fields<'_, 'a>,
        name: &str,
        in_url: bool,
        addr: &Node<'a>,
    ) -> Option<()> {
        let field = fields.value(name).filter(|field| field.text() != Some(""));
        match field {
            Some(field) if in_url && field.origin.rank() == addr.origin.rank() => {
                self.refuse(field, format!("`{name}` is given here and in `addr`; keep one"));
                None
            }
            _ => Some(()),
        }
    }

    /// User, password and database in fields of their own; where the address says something too, the
    /// higher rank counts.
    fn redis_login(
        &mut self,
        fields: Fields<'_, 'a>,
        used: bool,
        url_db: Option<u32>,
        config: &mut RedisConfig,
    ) -> Option<()> {
        let addr_rank = fields.value("addr").map_or(0, |node| node.origin.rank());
        let counts = |node: &&Node<'a>, in_url: bool| !in_url || node.origin.rank() > addr_rank;
        let user = fields.value("user").filter(|node| node.text() != Some(""));
        if let Some(node) = user.filter(|node| counts(node, config.username.is_some())) {
            config.username = Some(self.scalar(node, "user", "a name")?.0.to_owned());
        }
        let password = fields.value("password");
        if let Some(node) = password.filter(|node| counts(node, config.password.is_some())) {
            config.password = self.secret(node, "password", used)?;
        }
        let db = fields.value("db");
        if let Some(node) = db {
            let db = self.whole(node, "db", (0, u32::MAX.into()))?;
            if counts(&node, url_db.is_some()) {
                config.db = u32::try_from(db).ok()?;
            }
        }
        Some(())
    }

    /// What keys begin with. Braces would decide which node of a cluster holds a key.
    fn prefix(&mut self, node: &Node<'a>) -> Option<String> {
        let (text, _) = self.scalar(node, "prefix", "a word")?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if text.len() <= MAX_PREFIX && text.bytes().all(allowed) {
            return Some(text.to_owned());
        }
        self.refuse(node, "prefix must be 1 to 64 of A-Z a-z 0-9 _ . : -".to_owned());
        None
    }

    fn timeout(&mut self, node: &Node<'a>) -> Option<Span> {
        let timeout = self.span(node, "timeout")?;
        if (TIMEOUT_MIN..=TIMEOUT_MAX).contains(&timeout) {
            return Some(timeout);
        }
        self.refuse_with(
            node,
            format!("timeout is {timeout}; it must be {TIMEOUT_MIN} to 1min"),
            "a bare number is seconds; write it like 50ms",
        );
        None
    }
}
