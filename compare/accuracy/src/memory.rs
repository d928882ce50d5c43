//! What one key's state takes, counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate::{Limit, Limiter, ManualClock, MemoryConfig, MemoryStore, Policy};

use crate::traffic::{START, Traffic};

/// Enough that the store's own fixed parts do not show.
const KEYS: usize = 2_800;
/// How many requests of the traffic each key makes: a full window and more.
pub const REQUESTS: usize = 150;

static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Relaxed: read when nothing else runs.
        LIVE_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes per key after a full window of Poisson traffic.
pub fn bytes_per_key(limit: Limit) -> Result<f64, Box<dyn std::error::Error>> {
    let offered = Traffic::Poisson.offered();
    let keys: Vec<String> = (0..KEYS)
        .map(|number| format!("user:{number:06x}"))
        .collect();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    let clock = Arc::new(ManualClock::new(START));
    let config = MemoryConfig {
        shards: Some(16),
        ..MemoryConfig::default()
    };
    let store = MemoryStore::with_clock(config, Arc::clone(&clock));
    let limiter = Limiter::new(store, Policy::new("accuracy", [limit])?);
    for &at in &offered[..REQUESTS] {
        clock.set(at);
        for key in &keys {
            limiter.check(key)?;
        }
    }
    Ok((LIVE_BYTES.load(Ordering::Relaxed) - before) as f64 / KEYS as f64)
}
