//! Caches lists of names by their bytes: a list that comes again is not parsed again.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use plimsoll_core::Nodes;

/// Filter and prioritize may each have a list, which comes with pod after pod.
const MAX_LISTS: usize = 2;

/// A shorter list is parsed as fast as it is kept.
const WORTH_KEEPING: usize = 64;

/// The bytes at each end of a list that its sketch covers.
const SKETCHED: usize = 64;

/// The most bytes of a list that is kept.
const MAX_BYTES: usize = 2 << 20;

/// The elements of a list.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    /// The bytes of each, from the beginning of the list.
    pub(crate) ranges: Vec<Range<usize>>,
    /// The slot of each, or [`Nodes::UNKNOWN`].
    pub(crate) slots: Arc<[u32]>,
}

/// The lists that came last, of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct NameListCache {
    last: [ArcSwapOption<List>; MAX_LISTS],
    /// Counts the lists: each takes the place of the oldest.
    count: AtomicUsize,
    /// The sketches of the lists that were missed last. A scheduler that samples nodes never sends a list again, so a
    /// list is copied only once its sketch has been seen before.
    missed: [AtomicU64; MAX_LISTS],
    /// Counts the missed lists.
    misses: AtomicUsize,
}

#[derive(Debug)]
struct List {
    text: Box<[u8]>,
    elements: Arc<Elements>,
}

// === impl NameListCache ===

impl NameListCache {
    /// The list that this text begins with, if it is one of the last, and how many bytes it has.
    pub(crate) fn again(&self, text: &[u8]) -> Option<(Arc<Elements>, usize)> {
        self.last.iter().find_map(|kept| {
            let kept = kept.load();
            let list = kept.as_ref().filter(|list| text.starts_with(&list.text))?;
            Some((Arc::clone(&list.elements), list.text.len()))
        })
    }

    /// Keeps a list for when it comes again, if it has come before and is not odd.
    pub(crate) fn keep(&self, text: &[u8], elements: &Arc<Elements>) {
        // A name that is not known now may be known the next time.
        let is_worth_it = elements.slots.len() >= WORTH_KEEPING && !elements.slots.contains(&Nodes::UNKNOWN);
        if is_worth_it && text.len() <= MAX_BYTES && self.note_miss(sketch(text)) {
            let list = List { text: text.into(), elements: Arc::clone(elements) };
            self.last[self.count.fetch_add(1, Ordering::Relaxed) % MAX_LISTS].store(Some(Arc::new(list)));
        }
    }

    /// Notes a missed list; whether its sketch was there already.
    fn note_miss(&self, sketch: u64) -> bool {
        let is_known = self.missed.iter().any(|missed| missed.load(Ordering::Relaxed) == sketch);
        if !is_known {
            let at = self.misses.fetch_add(1, Ordering::Relaxed) % MAX_LISTS;
            self.missed[at].store(sketch, Ordering::Relaxed);
        }
        is_known
    }
}

/// A hash of a list's length and ends. Different lists may share it; then a list is copied that does not come again. It is
/// never used in place of another, since [`NameListCache::again`] compares all bytes.
fn sketch(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.len().hash(&mut hasher);
    text[..text.len().min(SKETCHED)].hash(&mut hasher);
    text[text.len().saturating_sub(SKETCHED)..].hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(slots: impl Iterator<Item = u32>) -> Arc<Elements> {
        Arc::new(Elements { ranges: Vec::new(), slots: slots.collect() })
    }

    /// Misses the list twice.
    fn keep(lists: &NameListCache, text: &str, elements: &Arc<Elements>) {
        lists.keep(text.as_bytes(), elements);
        lists.keep(text.as_bytes(), elements);
    }

    fn slots(lists: &NameListCache, text: &str) -> Option<(u32, usize)> {
        lists.again(text.as_bytes()).map(|(elements, bytes)| (elements.slots[0], bytes))
    }

    #[test]
    fn the_last_two_lists_are_known_again() {
        let lists = NameListCache::default();
        for (text, first) in [("[a]", 1), ("[b]", 2), ("[c]", 3)] {
            keep(&lists, text, &elements(first..first + 64));
        }
        assert_eq!(slots(&lists, "[a]}"), None);
        assert_eq!((slots(&lists, "[b]}"), slots(&lists, "[c]")), (Some((2, 3)), Some((3, 3))));
        assert_eq!((slots(&lists, "[b"), slots(&lists, "")), (None, None));
    }

    #[test]
    fn a_list_is_kept_when_it_comes_the_second_time() {
        let lists = NameListCache::default();
        for text in ["[a]", "[b]"] {
            lists.keep(text.as_bytes(), &elements(0..64));
            assert_eq!(slots(&lists, text), None);
        }
        for text in ["[a]", "[b]"] {
            lists.keep(text.as_bytes(), &elements(0..64));
            assert_eq!(slots(&lists, text), Some((0, 3)));
        }
    }

    #[test]
    fn a_list_that_is_short_or_long_or_has_an_unknown_name_is_not_kept() {
        let lists = NameListCache::default();
        keep(&lists, "[a]", &elements(0..63));
        keep(&lists, "[b]", &elements((0..64).chain([Nodes::UNKNOWN])));
        keep(&lists, &"[".repeat(MAX_BYTES + 1), &elements(0..64));
        assert!(["[a]", "[b]", &"[".repeat(MAX_BYTES + 1)].iter().all(|text| slots(&lists, text).is_none()));
    }
}
