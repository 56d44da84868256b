//! Statics of a module with one thread.

use std::cell::UnsafeCell;

/// A static of a module with one thread.
pub(super) struct Single<T>(pub(super) UnsafeCell<T>);

// SAFETY: this module is built without threads (checked below), so nothing is shared between any.
unsafe impl<T> Sync for Single<T> {}

#[cfg(target_feature = "atomics")]
compile_error!("a policy has one thread: build it without the target feature `atomics`");
