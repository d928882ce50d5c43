//! The sweeper: a thread that drops what is back to full, without traffic too.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::table::Table;
use crate::clock::Clock;

/// Every shard is visited about once a second, in as many steps.
const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_ROUND: usize = 10;

/// Keeps the sweeping thread alive; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Sweeper {
    _end: Sender<()>,
}

impl Sweeper {
    /// Starts sweeping. Where no thread can be had there is none: then keys are dropped only when
    /// their room is needed.
    pub(super) fn start<C: Clock>(table: &Arc<Table>, clock: &Arc<C>) -> Option<Sweeper> {
        let (end, ended) = channel();
        let (table, clock) = (Arc::downgrade(table), Arc::clone(clock));
        std::thread::Builder::new()
            .name("tidegate-sweep".into())
            .spawn(move || sweep_until(&ended, &table, &*clock))
            .ok()
            .map(|_| Sweeper { _end: end })
    }
}

/// Sweeps some shards at each step until the store is gone.
fn sweep_until<C: Clock>(ended: &Receiver<()>, table: &Weak<Table>, clock: &C) {
    let mut next = 0;
    while ended.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
        let Some(table) = table.upgrade() else { return };
        let count = table.shard_count();
        table.look_at_clock(clock.now());
        for _ in 0..count.div_ceil(STEPS_PER_ROUND) {
            table.sweep(next % count, clock.now());
            next += 1;
        }
    }
}
