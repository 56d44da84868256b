//! Several caches within one bound.

/// A cache whose least recently used entries can be dropped.
pub trait Evict {
    /// Bytes of everything.
    fn bytes(&self) -> usize;

    /// When each entry was last used, and the bytes that dropping it frees.
    fn last_uses(&self) -> Vec<(u64, usize)>;

    /// Drops the entries that were last used before this, and everything that only they needed.
    fn evict_before(&self, since: u64);
}

/// Drops the least recently used entries of all caches if they hold more than `max_bytes`.
///
/// A quarter of the bound is freed beyond that, so that this is rare.
pub fn evict_to(caches: &[&dyn Evict], max_bytes: usize) {
    let bytes = || caches.iter().map(|cache| cache.bytes()).sum::<usize>();
    let mut goal = max_bytes / 4 * 3;
    while bytes() > max_bytes {
        evict_oldest(caches, goal);
        if goal == 0 {
            // The rest is in use by requests that have not ended.
            break;
        }
        // Entries share memory, which is freed with the last of them: that takes another round.
        goal /= 2;
    }
}

/// Keeps the most recently used entries, `goal` bytes in all.
fn evict_oldest(caches: &[&dyn Evict], goal: usize) {
    let mut last_uses: Vec<(u64, usize)> = caches.iter().flat_map(|cache| cache.last_uses()).collect();
    last_uses.sort_unstable_by(|one, other| other.cmp(one));
    let mut kept = 0;
    let first_to_go = last_uses.iter().find(|(_, bytes)| {
        kept += bytes;
        kept > goal
    });
    let since = first_to_go.map_or(0, |(used, _)| used + 1);
    for cache in caches {
        cache.evict_before(since);
    }
}
