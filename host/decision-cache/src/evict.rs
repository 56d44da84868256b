//! Several caches within one bound.

/// Something of which the least recently used entries can be dropped.
pub trait Evict {
    /// Bytes of everything.
    fn bytes(&self) -> usize;

    /// When each entry was last used, and the bytes that are free once it is gone.
    fn ages(&self) -> Vec<(u64, usize)>;

    /// Drops the entries that were not used since, and what only they have needed.
    fn evict_before(&self, since: u64);
}

/// Drops the least recently used entries of all caches if they hold more than `max_bytes`.
///
/// About a quarter more than needed goes, so that this is rare.
pub fn evict_to(caches: &[&dyn Evict], max_bytes: usize) {
    let bytes = || caches.iter().map(|cache| cache.bytes()).sum::<usize>();
    let mut goal = max_bytes / 4 * 3;
    while bytes() > max_bytes {
        evict_oldest(caches, goal);
        if goal == 0 {
            // What is left is in use by requests that have not ended.
            break;
        }
        // Entries share memory, which is free only when the last of them is gone: then it takes another round.
        goal /= 2;
    }
}

/// Keeps the entries that were used last, of `goal` bytes in all.
fn evict_oldest(caches: &[&dyn Evict], goal: usize) {
    let mut ages: Vec<(u64, usize)> = caches.iter().flat_map(|cache| cache.ages()).collect();
    ages.sort_unstable_by(|one, other| other.cmp(one));
    let mut kept = 0;
    let first_to_go = ages.iter().find(|(_, bytes)| {
        kept += bytes;
        kept > goal
    });
    let since = first_to_go.map_or(0, |(used, _)| used + 1);
    for cache in caches {
        cache.evict_before(since);
    }
}
