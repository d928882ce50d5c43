//! Where memory comes from: small pieces from mimalloc, large ones from the system.
//!
//! Answers are made of many small pieces that live for a moment, which mimalloc makes and frees in
//! half the time. The tables of the memory store are large, and grow: mimalloc keeps the room of the
//! smaller ones before them, sorted by size, where the system's allocator joins what lies side by
//! side. With a million keys that is a third of the memory.

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// Pieces of this many bytes and more are large: all tables of the store that hold keys.
const LARGE: usize = 768;

/// The allocator of the process.
pub(crate) struct Allocator;

const fn is_large(size: usize) -> bool {
    size >= LARGE
}

#[allow(unsafe_code, reason = "the trait is unsafe; each call only goes on to one of two others")]
// SAFETY: a piece's size when it is freed or resized is the one that it was made with, so it always
// goes back to the allocator that it came from, which upholds the rest.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises.
        unsafe {
            if is_large(layout.size()) { System.alloc(layout) } else { MiMalloc.alloc(layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises.
        unsafe {
            if is_large(layout.size()) {
                System.alloc_zeroed(layout)
            } else {
                MiMalloc.alloc_zeroed(layout)
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: what the caller promises; the piece came from where its size says.
        unsafe {
            if is_large(layout.size()) {
                System.dealloc(piece, layout);
            } else {
                MiMalloc.dealloc(piece, layout);
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: what the caller promises; the piece came from where its size says.
        unsafe {
            match (is_large(layout.size()), is_large(size)) {
                (true, true) => System.realloc(piece, layout, size),
                (false, false) => MiMalloc.realloc(piece, layout, size),
                _ => self.moved(piece, layout, size),
            }
        }
    }
}

impl Allocator {
    /// A piece in the other allocator with what this one holds.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::realloc`].
    #[allow(unsafe_code, reason = "part of the above")]
    unsafe fn moved(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size` is possible with this alignment; both pieces hold at
        // least the shorter size, and lie apart.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(piece, layout.size().min(size));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "what is tested is unsafe")]
    fn a_piece_keeps_what_it_holds_across_the_bound() {
        let layout = |size| Layout::from_size_align(size, 8).expect("a layout");
        // SAFETY: each layout is the one that its piece was last made with, and within it is written.
        unsafe {
            let mut piece = Allocator.alloc_zeroed(layout(LARGE - 1));
            for (at, (from, to)) in
                [(LARGE - 1, LARGE), (LARGE, 9 * LARGE), (9 * LARGE, 100), (100, 200)]
                    .into_iter()
                    .enumerate()
            {
                let mark = u8::try_from(at).expect("small") + 1;
                piece.add(50 + at).write(mark);
                piece = Allocator.realloc(piece, layout(from), to);
                assert_eq!(piece.add(50 + at).read(), mark);
                assert_eq!(piece.read(), 0);
            }
            Allocator.dealloc(piece, layout(200));
        }
    }
}
