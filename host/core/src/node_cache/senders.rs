//! The node caches of those who send whole nodes: nobody's nodes are taken for another's.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::{KnownNodes, MAX_BYTES, NodeCache};
use crate::Sender;

/// The most senders whose nodes are kept; of more, those go that sent nothing for longest. Schedulers are few, and each
/// has one that leads.
const MAX_SENDERS: usize = 4;

/// A node cache for each sender; together they keep no more than one alone would.
#[derive(Debug)]
pub(crate) struct SenderNodeCaches {
    kept: ArcSwap<Vec<Arc<Kept>>>,
    /// Held while a sender is added.
    adding: Mutex<()>,
    /// Counts requests with whole nodes.
    count: AtomicU64,
    nothing: KnownNodes,
    max_bytes: usize,
    max_column_bytes: usize,
}

#[derive(Debug)]
struct Kept {
    sender: Sender,
    cache: NodeCache,
    /// The count at the sender's last request.
    used: AtomicU64,
}

// === impl SenderNodeCaches ===

impl SenderNodeCaches {
    /// No caches; `max_column_bytes` bounds the columns of all of them.
    pub(crate) fn new(max_column_bytes: usize) -> Self {
        let (kept, adding, count) = (ArcSwap::default(), Mutex::default(), AtomicU64::new(0));
        Self { kept, adding, count, nothing: KnownNodes::default(), max_bytes: MAX_BYTES, max_column_bytes }
    }

    /// The same, with at most this many bytes of nodes in all of them together.
    pub(crate) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The nodes that a sender has brought.
    pub(crate) fn known(&self, sender: Sender) -> KnownNodes {
        let kept = self.kept.load();
        let own = kept.iter().find(|kept| kept.sender == sender);
        own.map_or_else(|| self.nothing.clone(), |kept| kept.cache.known())
    }

    /// Does something with the cache of a sender that brings nodes; it is made if there is none.
    pub(crate) fn with<T>(&self, sender: Sender, then: impl FnOnce(&NodeCache) -> T) -> T {
        let own = self.find(sender).unwrap_or_else(|| self.add(sender));
        own.used.store(self.count.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        then(&own.cache)
    }

    /// The node that a sender brought last under a name.
    pub(crate) fn find_node(&self, sender: Sender, name: &str) -> Option<Arc<crate::Node>> {
        self.find(sender)?.cache.find(name)
    }

    /// Bytes of the columns of all of them.
    pub(crate) fn column_bytes(&self) -> usize {
        self.kept.load().iter().map(|kept| kept.cache.column_bytes()).sum()
    }

    fn find(&self, sender: Sender) -> Option<Arc<Kept>> {
        self.kept.load().iter().find(|kept| kept.sender == sender).cloned()
    }

    fn add(&self, sender: Sender) -> Arc<Kept> {
        let _one_at_a_time = self.adding.lock();
        if let Some(own) = self.find(sender) {
            return own;
        }
        let mut all = self.kept.load().to_vec();
        if all.len() == MAX_SENDERS {
            let oldest = all.iter().enumerate().min_by_key(|(_, kept)| kept.used.load(Ordering::Relaxed));
            oldest.map(|(at, _)| at).map(|at| all.swap_remove(at));
        }
        let own = Arc::new(Kept { sender, cache: NodeCache::new(self.max_column_bytes), used: AtomicU64::new(0) });
        all.push(Arc::clone(&own));
        // A sender that holds more than its share keeps the excess until it next brings something new.
        for kept in &all {
            kept.cache.set_limits(self.max_bytes / all.len(), self.max_column_bytes / all.len());
        }
        self.kept.store(Arc::new(all));
        own
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::NodeObject;

    fn bring(caches: &SenderNodeCaches, sender: Sender, zone: &str) {
        let json = format!(r#"{{"metadata":{{"name":"n1","labels":{{"zone":"{zone}"}}}}}}"#);
        caches
            .with(sender, |cache| {
                cache.resolve(&[NodeObject::Json(Bytes::from(json))], None, &Arc::default()).map(drop)
            })
            .unwrap();
    }

    fn zone(caches: &SenderNodeCaches, sender: Sender) -> Option<String> {
        let node = caches.find_node(sender, "n1")?;
        node.labels().get("zone").map(ToOwned::to_owned)
    }

    #[test]
    fn a_name_stands_for_the_node_that_its_own_sender_brought_last() {
        let caches = SenderNodeCaches::new(1 << 20);
        let (scheduler, stranger) = (Sender::of("scheduler"), Sender::of("stranger"));
        assert_ne!(scheduler, stranger);
        bring(&caches, scheduler, "a");
        bring(&caches, stranger, "b");
        assert_eq!(zone(&caches, scheduler).as_deref(), Some("a"));
        assert_eq!(zone(&caches, stranger).as_deref(), Some("b"));
        bring(&caches, Sender::of("scheduler"), "c");
        assert_eq!(zone(&caches, scheduler).as_deref(), Some("c"));
        assert_eq!(zone(&caches, Sender::default()), None);
        assert_eq!(caches.known(scheduler).cluster().slots().len(), 1);
        assert_eq!(caches.known(Sender::default()).cluster().slots().len(), 0);
    }

    #[test]
    fn of_more_senders_than_are_kept_the_one_that_was_silent_for_longest_goes() {
        let caches = SenderNodeCaches::new(1 << 20);
        let senders: Vec<Sender> = (0..=MAX_SENDERS).map(|at| Sender::of(&at.to_string())).collect();
        for sender in &senders[..MAX_SENDERS] {
            bring(&caches, *sender, "a");
        }
        bring(&caches, senders[0], "a");
        bring(&caches, senders[MAX_SENDERS], "a");
        let kept: Vec<bool> = senders.iter().map(|sender| zone(&caches, *sender).is_some()).collect();
        assert_eq!(kept, [true, false, true, true, true]);
    }
}
