//! The limit of the memory that all policies' caches may take together.

use plimsoll_decision_cache::{Evict, evict_to};

use crate::decide::Roster;

/// The size of the decision cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimit {
    /// Bytes of all cached answers and columns together.
    pub bytes: usize,
}

// === impl CacheLimit ===

impl CacheLimit {
    /// Maximum bytes for the columns of one cluster: the one in force, or the one of the nodes that requests bring.
    pub(crate) const fn columns(self) -> usize {
        self.bytes / 4
    }

    /// Drops the least recently used answers, where there are more than may be.
    pub(crate) fn keep_within(self, roster: &Roster) {
        let most = self.bytes - 2 * self.columns();
        if roster.cached_bytes() <= most {
            return;
        }
        roster.groups().for_each(|(_, group)| group.drop_combined());
        let caches: Vec<&dyn Evict> = roster.members().flat_map(|member| member.cache.caches()).collect();
        // The rest is for combined classes, which are small: the next request makes them again.
        evict_to(&caches, most / 8 * 7);
    }
}

impl Default for CacheLimit {
    fn default() -> Self {
        Self { bytes: 256 << 20 }
    }
}
