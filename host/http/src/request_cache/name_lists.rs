//! Caches lists of names by their bytes: a list that comes again is not parsed again.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use plimsoll_core::Nodes;

/// Filter and prioritize may each have a list of their own, which comes with pod after pod.
const MAX_LISTS: usize = 2;

/// A shorter list is parsed as fast as it is kept.
const WORTH_KEEPING: usize = 64;

/// The most bytes of a list that is kept.
const MAX_BYTES: usize = 2 << 20;

/// The elements of a list.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    /// Where each stands, from the beginning of the list.
    pub(crate) places: Vec<Range<usize>>,
    /// The slot of each, or [`Nodes::UNKNOWN`].
    pub(crate) slots: Arc<[u32]>,
}

/// The lists that came last, of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct NameListCache {
    last: [ArcSwapOption<List>; MAX_LISTS],
    /// Counts the lists: each takes the place of the oldest.
    count: AtomicUsize,
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

    /// Keeps a list for when it comes again, unless it is odd.
    pub(crate) fn keep(&self, text: &[u8], elements: &Arc<Elements>) {
        // A name that is not known now may be known the next time.
        let is_worth_it = elements.slots.len() >= WORTH_KEEPING && !elements.slots.contains(&Nodes::UNKNOWN);
        if is_worth_it && text.len() <= MAX_BYTES {
            let list = List { text: text.into(), elements: Arc::clone(elements) };
            self.last[self.count.fetch_add(1, Ordering::Relaxed) % MAX_LISTS].store(Some(Arc::new(list)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(slots: impl Iterator<Item = u32>) -> Arc<Elements> {
        Arc::new(Elements { places: Vec::new(), slots: slots.collect() })
    }

    fn slots(lists: &NameListCache, text: &str) -> Option<(u32, usize)> {
        lists.again(text.as_bytes()).map(|(elements, bytes)| (elements.slots[0], bytes))
    }

    #[test]
    fn the_last_two_lists_are_known_again() {
        let lists = NameListCache::default();
        for (text, first) in [("[a]", 1), ("[b]", 2), ("[c]", 3)] {
            lists.keep(text.as_bytes(), &elements(first..first + 64));
        }
        assert_eq!(slots(&lists, "[a]}"), None);
        assert_eq!((slots(&lists, "[b]}"), slots(&lists, "[c]")), (Some((2, 3)), Some((3, 3))));
        assert_eq!((slots(&lists, "[b"), slots(&lists, "")), (None, None));
    }

    #[test]
    fn a_list_that_is_short_or_long_or_has_an_unknown_name_is_not_kept() {
        let lists = NameListCache::default();
        lists.keep(b"[a]", &elements(0..63));
        lists.keep(b"[b]", &elements((0..64).chain([Nodes::UNKNOWN])));
        lists.keep(&vec![b'['; MAX_BYTES + 1], &elements(0..64));
        assert!(["[a]", "[b]", &"[".repeat(MAX_BYTES + 1)].iter().all(|text| slots(&lists, text).is_none()));
    }
}
