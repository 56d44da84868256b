//! The functions of the host, and the values that they take and return as they lie in memory.

mod generated;

use std::ptr::null;

pub(super) use generated::*;

/// Text as the canonical ABI has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Text {
    pub(super) pointer: *const u8,
    pub(super) length: usize,
}

/// A list of `T`.
#[repr(C)]
pub(super) struct Items<T> {
    pub(super) pointer: *const T,
    pub(super) length: usize,
}

/// An option; `some` holds nothing where `tag` is 0.
#[repr(C)]
pub(super) struct Maybe<T> {
    pub(super) tag: u8,
    pub(super) some: T,
}

// === impl Text, Items, Maybe ===

impl Text {
    pub(super) const EMPTY: Self = Self { pointer: null(), length: 0 };

    pub(super) const fn of(text: &str) -> Self {
        Self { pointer: text.as_ptr(), length: text.len() }
    }
}

impl<T> Items<T> {
    pub(super) const EMPTY: Self = Self { pointer: null(), length: 0 };
}

impl<T> Maybe<T> {
    pub(super) fn of(some: Option<T>, empty: T) -> Self {
        match some {
            Some(some) => Self { tag: 1, some },
            None => Self { tag: 0, some: empty },
        }
    }
}
