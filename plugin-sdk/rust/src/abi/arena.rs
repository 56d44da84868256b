//! Memory for the results of the host: bumped within a call, rewound between calls.
//!
//! Held as raw pointers throughout: a reference to a block here would alias the text already in it.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::UnsafeCell,
    mem::MaybeUninit,
};

use super::single::Single;

/// Enough for the reads of most calls; it lies in the module's memory, so they allocate nothing.
const FIRST_SIZE: usize = 4096;

static FIRST: Single<[MaybeUninit<u64>; FIRST_SIZE / 8]> =
    Single(UnsafeCell::new([MaybeUninit::uninit(); FIRST_SIZE / 8]));

/// Hands out memory that stays as it is until [`Arena::rewind`].
pub(super) struct Arena {
    /// The block in use.
    block: *mut u8,
    size: usize,
    next: usize,
    /// Blocks of the allocator, each larger than the one before; the last is in use.
    grown: Vec<(*mut u8, Layout)>,
}

// === impl Arena ===

impl Arena {
    pub(super) const fn new() -> Self {
        Self { block: FIRST.0.get().cast(), size: FIRST_SIZE, next: 0, grown: Vec::new() }
    }

    /// A block of `size` bytes at a multiple of `align`, a power of two.
    pub(super) fn take(&mut self, size: usize, align: usize) -> *mut u8 {
        let padding = self.block.wrapping_add(self.next).align_offset(align);
        match padding.checked_add(size) {
            Some(needed) if needed <= self.size - self.next => {
                let start = self.next + padding;
                self.next += needed;
                self.block.wrapping_add(start)
            }
            _ => {
                self.grow(size, align);
                self.next = size;
                self.block
            }
        }
    }

    /// Voids all that was handed out; keeps the largest block.
    ///
    /// # Safety
    /// Nothing that was handed out is used again.
    pub(super) unsafe fn rewind(&mut self) {
        self.next = 0;
        let older = self.grown.len().saturating_sub(1);
        for (block, layout) in self.grown.drain(..older) {
            // SAFETY: `grow` allocated the block with this layout, and no one uses it any more.
            unsafe { dealloc(block, layout) };
        }
    }

    #[cold]
    fn grow(&mut self, size: usize, align: usize) {
        let size = size.max(self.size.saturating_mul(2));
        let Ok(layout) = Layout::from_size_align(size, align.max(8)) else {
            panic!("the host returned {size} bytes, more than there can be")
        };
        // SAFETY: the size is not 0, since it is at least that of the first block.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        self.grown.push((block, layout));
        (self.block, self.size) = (block, size);
    }
}
