//! The sender of a request.

use std::{collections::hash_map::RandomState, hash::BuildHasher, sync::LazyLock};

/// The sender of a request, as far as the connection tells: a name in a certificate, or an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sender(u64);

// === impl Sender ===

impl Sender {
    /// The sender with this name, which may be any text.
    pub fn of(name: &str) -> Self {
        // Nobody can choose a name that stands for another's.
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Self(KEY.hash_one(name))
    }
}
