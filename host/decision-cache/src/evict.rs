//! Several caches within one bound.

/// Something of which the least recently used entries can be dropped.
pub trait Evict {
    /// Bytes of everything.
    fn bytes(&self) -> usize;

    /// When each entry was last used, and the bytes that are free once it is gone.
    fn ages(&self) -> Vec<(u64, usize)>;

    /// Drops the entries that were not used since.
    fn evict_before(&self, since: u64);
}

/// Drops the least recently used entries of all caches until they hold at most three quarters of `max_bytes`.
pub fn evict_to(caches: &[&dyn Evict], max_bytes: usize) {
    let mut ages: Vec<(u64, usize)> = caches.iter().flat_map(|cache| cache.ages()).collect();
    ages.sort_unstable_by(|one, other| other.cmp(one));
    // A quarter more than needed, so that this is rare.
    let goal = max_bytes / 4 * 3;
    let mut kept = 0;
    let first_to_go = ages.iter().find(|(_, bytes)| {
        kept += bytes;
        kept > goal
    });
    if let Some((used, _)) = first_to_go {
        for cache in caches {
            cache.evict_before(used + 1);
        }
    }
}
