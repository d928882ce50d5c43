//! Bytes per key and allocations per check, by an allocator that counts.
//!
//! A binary of its own, so that counting distorts no timing: `cargo run --release -p inproc --bin counted`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use inproc::table::memory::{self, Counted};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

/// What glibc's allocator keeps before each block that it gives.
const HEADER: usize = 8;

/// What a block takes: more than was asked for, as sizes are rounded up.
///
/// # Safety
///
/// `pointer` came from the system's allocator and was not given back, or is null.
unsafe fn size(pointer: *mut u8) -> u64 {
    // SAFETY: as promised.
    let usable = unsafe { libc::malloc_usable_size(pointer.cast()) };
    (usable + HEADER) as u64
}

/// The system's allocator, counted.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Relaxed: read when nothing else runs.
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe {
            let pointer = System.alloc(layout);
            LIVE_BYTES.fetch_add(size(pointer), Ordering::Relaxed);
            pointer
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe {
            LIVE_BYTES.fetch_sub(size(pointer), Ordering::Relaxed);
            System.dealloc(pointer, layout);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    memory::run(|| Counted {
        allocations: ALLOCATIONS.load(Ordering::Relaxed),
        live_bytes: LIVE_BYTES.load(Ordering::Relaxed),
    });
}
