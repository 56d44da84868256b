//! The order in which compiles begin.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::Relaxed},
};

/// The order in which compiles that wait begin: the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Priority {
    /// Nobody waits for it.
    Background,
    Normal,
    /// A version of the policy is in force.
    Urgent,
}

/// The priority of a load. Another load that waits for the same module raises it to its priority (priority inheritance).
#[derive(Debug, Clone)]
pub(crate) struct SharedPriority(Arc<AtomicU8>);

// === impl SharedPriority ===

impl SharedPriority {
    pub(crate) fn new(priority: Priority) -> Self {
        Self(Arc::new(AtomicU8::new(priority as u8)))
    }

    /// Raises it to at least this one. Those that wait are compared when a compile ends.
    pub(crate) fn raise(&self, priority: Priority) {
        self.0.fetch_max(priority as u8, Relaxed);
    }

    pub(crate) fn get(&self) -> Priority {
        let number = self.0.load(Relaxed);
        let all = [Priority::Urgent, Priority::Normal];
        all.into_iter().find(|priority| *priority as u8 == number).unwrap_or(Priority::Background)
    }
}
