//! Where a key's entry will most likely be, known without a lock.
//!
//! A check needs two cache lines that other threads may have written last: that of its shard, with
//! the lock, and that of its entry, whose place is known only under the lock. Asking for the entry's
//! line beforehand has both on their way at once. A hint may be out of date: then a line is fetched
//! that nobody needs.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::flat::{Flat, point};

/// Where a shard's entries lie in memory.
#[derive(Debug, Default)]
pub(super) struct Hint {
    address: AtomicUsize,
    /// How many places hashes point to, above the size of an entry as a power of two of bytes.
    shape: AtomicUsize,
}

/// Bits of a shape that say how large an entry is.
const SIZE_BITS: u32 = 6;

impl Hint {
    /// Says where the entries lie now.
    pub(super) fn set(&self, flat: &Flat) {
        let size = flat.shift() as usize + size_of::<u64>().ilog2() as usize;
        // Relaxed: an address and a shape that do not belong together cost a line fetched in vain.
        self.address.store(flat.address(), Ordering::Relaxed);
        self.shape.store(flat.places() << SIZE_BITS | size, Ordering::Relaxed);
    }

    /// Has the processor fetch the line where the entry of a hash would best be.
    #[inline]
    pub(super) fn fetch(&self, hash: u64) {
        let shape = self.shape.load(Ordering::Relaxed);
        let offset = point(hash, shape >> SIZE_BITS) << (shape & ((1 << SIZE_BITS) - 1));
        fetch_at(self.address.load(Ordering::Relaxed).wrapping_add(offset));
    }
}

/// Has the processor fetch the cache line where a value begins, to be written.
#[inline]
pub(super) fn fetch<T>(value: &T) {
    fetch_at(std::ptr::from_ref(value).addr());
}

/// Has the processor fetch the cache line at an address, to be written.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "the instruction has no form in the standard library")]
fn fetch_at(address: usize) {
    // The library's own prefetch becomes one for reading unless the whole program is compiled for
    // processors that know this one; and a line fetched for reading must be asked for again.
    //
    // SAFETY: PREFETCHW has no effect that a program can see, whatever the address: it neither reads
    // nor faults. Processors that do not know it take it for no operation.
    unsafe {
        std::arch::asm!(
            "prefetchw [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, nomem),
        );
    }
}

/// Elsewhere nothing is fetched ahead.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch_at(_address: usize) {}
