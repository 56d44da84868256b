//! The canonical ABI by hand: the only module with `unsafe`, and only in WebAssembly.
//!
//! ```text
//! host ── export ──> Call (rewinds the arena) ──> verb ──> Door ── import ──> host
//!                                                            ^                  │ cabi_realloc
//!      <── Reply (static, kept until the next call) ──       └── &'call str <── Arena
//! ```
//!
//! A module has one thread and the host never enters it twice at once, so statics are not shared. Text
//! and lists that the host returns lie in the arena, which is rewound as the next call begins; a `Door`
//! cannot outlive its [`Call`], and so neither can they.
//!
//! Layouts follow the Canonical ABI: text and lists are a pointer and a length, an option or variant is
//! a byte of tag and then its payload at the payload's own alignment.
#![expect(unsafe_code, reason = "the canonical ABI is pointers into linear memory")]

mod arena;
mod door;
mod generated;
mod pod;
mod reply;

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;

pub(crate) use door::{Door, log, now, panic};
pub use reply::{BindReply, List, Reply};
pub(crate) use reply::{bind_reply, numbers, reply};

use arena::Arena;

static ARENA: Single<Arena> = Single(UnsafeCell::new(Arena::new()));
static UNDER_WAY: Single<Cell<bool>> = Single(UnsafeCell::new(Cell::new(false)));

/// One call of an export. While it lives, the values that the host returned live too.
pub(crate) struct Call(PhantomData<*const ()>);

/// A static of a module with one thread.
struct Single<T>(UnsafeCell<T>);

// SAFETY: this module is built without threads (checked below), so nothing is shared between any.
unsafe impl<T> Sync for Single<T> {}

#[cfg(target_feature = "atomics")]
compile_error!("a policy has one thread: build it without the target feature `atomics`");

/// Answers the host's requests for memory as it lowers results of imports.
///
/// # Safety
/// Only for the export `cabi_realloc`: `old` is null, or a block of `old_size` bytes that it returned.
pub unsafe fn realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    // SAFETY: no reference into the arena's own fields is held while the host runs.
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
        // SAFETY: no other `Call` lives, so no `Door` and no text in the arena does.
        unsafe { (*ARENA.0.get()).rewind() };
        Self(PhantomData)
    }

    /// The way to the world for as long as the call lasts.
    pub(crate) fn door(&self) -> Door<'_> {
        Door::new(self)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        unsafe { (*UNDER_WAY.0.get()).set(false) };
    }
}
