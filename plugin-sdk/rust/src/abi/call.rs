//! One call of an export, and the memory that the host asks for while it lasts.

use std::{
    cell::{Cell, UnsafeCell},
    marker::PhantomData,
};

use super::{arena::Arena, single::Single};

static ARENA: Single<Arena> = Single(UnsafeCell::new(Arena::new()));
static UNDER_WAY: Single<Cell<bool>> = Single(UnsafeCell::new(Cell::new(false)));

/// One call of an export. While it lives, the values that the host returned live too.
pub(crate) struct Call(PhantomData<*const ()>);

/// Answers the host's requests for memory as it lowers results of imports.
///
/// # Safety
/// Only for the export `cabi_realloc`: `old` is null, or a block of `old_size` bytes that it returned.
pub unsafe fn realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    // SAFETY: no reference into the arena's fields is held while the host runs.
    let new = unsafe { (*ARENA.0.get()).take(size, align) };
    if !old.is_null() && old_size > 0 {
        // SAFETY: both blocks are as large as copied, and the arena never hands out the same byte twice in a call.
        unsafe { new.copy_from_nonoverlapping(old, old_size.min(size)) };
    }
    new
}

// === impl Call ===

impl Call {
    /// Begins a call: all that the arena holds is void.
    pub(crate) fn begin() -> Self {
        // SAFETY: one thread, and the reference ends with the expression.
        let was_under_way = unsafe { (*UNDER_WAY.0.get()).replace(true) };
        assert!(!was_under_way, "a policy is not called while a call is under way");
        // SAFETY: no other `Call` lives, so no `HostCalls` and no text in the arena does.
        unsafe { (*ARENA.0.get()).rewind() };
        Self(PhantomData)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        unsafe { (*UNDER_WAY.0.get()).set(false) };
    }
}
