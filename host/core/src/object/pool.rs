//! Keeps once the parts that placed pods have in common.

use std::{
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use hashbrown::HashSet;

use super::{ALLOCATION, Entries, Owner, Pod, Quantities};

/// Texts and maps by their contents: the pods of one deployment share labels, annotations and requests.
///
/// Parts that no pod has any more are dropped by pruning. It comes once as many bytes were added as the last one left,
/// and at least 256 KiB, so its cost per pod is constant.
#[derive(Debug, Default)]
pub struct Pool {
    texts: Set<str>,
    entries: Set<Entries>,
    quantities: Set<Quantities>,
    owners: Set<Owner>,
    /// Bytes of the parts that the last pruning left.
    used_bytes: usize,
    /// Bytes of the parts that were added since.
    added_bytes: usize,
}

type Set<T> = HashSet<Arc<T>, foldhash::fast::RandomState>;

/// Pruning looks at every part, so it waits for at least this many bytes of new ones.
const MIN_ADDED_BYTES: usize = 256 << 10;

/// A part that pods can share.
trait Part: Hash + Eq {
    /// Bytes of the part itself, and of what it owns.
    fn bytes(&self) -> usize;
}

// === impl Pool ===

impl Pool {
    /// The same pod with parts that other pods of the pool may have too.
    #[must_use]
    pub fn share(&mut self, mut pod: Pod) -> Pod {
        let mut added = share(&mut self.texts, &mut pod.namespace);
        for text in pod.node.iter_mut().chain(&mut pod.priority_class) {
            added += share(&mut self.texts, text);
        }
        if let Some(owner) = &mut pod.controller {
            added += share(&mut self.owners, owner);
        }
        added += share(&mut self.entries, &mut pod.labels);
        added += share(&mut self.entries, &mut pod.annotations);
        added += share(&mut self.quantities, &mut pod.requests);
        self.added_bytes += added;
        if self.added_bytes > self.used_bytes.max(MIN_ADDED_BYTES) {
            self.prune();
        }
        pod
    }

    /// Drops the parts that no pod has any more.
    pub fn prune(&mut self) {
        self.used_bytes =
            prune(&mut self.texts) + prune(&mut self.entries) + prune(&mut self.quantities) + prune(&mut self.owners);
        self.added_bytes = 0;
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        self.texts.len() + self.entries.len() + self.quantities.len() + self.owners.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Replaces a part by an equal one of the set, or adds it; returns the bytes that were added.
fn share<T: ?Sized + Part, S: BuildHasher>(set: &mut HashSet<Arc<T>, S>, own: &mut Arc<T>) -> usize {
    let before = set.len();
    let shared = set.get_or_insert_with(own, Arc::clone);
    *own = Arc::clone(shared);
    if set.len() == before { 0 } else { bytes_in_set(own) }
}

/// Drops the parts that only the set has; returns the bytes of the others.
fn prune<T: ?Sized + Part, S: BuildHasher>(set: &mut HashSet<Arc<T>, S>) -> usize {
    set.retain(|part| Arc::strong_count(part) > 1);
    // Room for as many again, so that a growing set is not rehashed by each pruning.
    set.shrink_to(2 * set.len());
    set.iter().map(bytes_in_set).sum()
}

fn bytes_in_set<T: ?Sized + Part>(part: &Arc<T>) -> usize {
    ALLOCATION + size_of::<Arc<T>>() + part.bytes()
}

impl Part for str {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Part for Entries {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap_bytes()
    }
}

impl Part for Quantities {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap_bytes()
    }
}

impl Part for Owner {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.text_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, app: &str) -> Pod {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"web","labels":{{"app":"{app}"}},
                    "ownerReferences":[{{"kind":"ReplicaSet","name":"{app}","controller":true}}]}},
                "spec":{{"nodeName":"n1","priorityClassName":"high","containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}"#
        );
        Pod::placed_from_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn pods_share_what_they_have_in_common_and_stay_equal() {
        let mut pool = Pool::default();
        let pods = [("a", "x"), ("b", "x"), ("c", "y")].map(|(name, app)| pool.share(pod(name, app)));
        assert!(Arc::ptr_eq(&pods[0].labels, &pods[1].labels));
        assert!(Arc::ptr_eq(&pods[0].namespace, &pods[2].namespace));
        assert!(Arc::ptr_eq(&pods[0].requests, &pods[2].requests));
        assert!(Arc::ptr_eq(pods[0].node.as_ref().unwrap(), pods[2].node.as_ref().unwrap()));
        assert!(Arc::ptr_eq(pods[0].controller.as_ref().unwrap(), pods[1].controller.as_ref().unwrap()));
        assert!(Arc::ptr_eq(pods[0].priority_class.as_ref().unwrap(), pods[2].priority_class.as_ref().unwrap()));
        assert!(!Arc::ptr_eq(&pods[0].labels, &pods[2].labels));
        assert_eq!(pods[2], pod("c", "y"));
    }

    #[test]
    fn a_part_that_no_pod_has_is_dropped() {
        let mut pool = Pool::default();
        let (first, second) = (pool.share(pod("a", "x")), pool.share(pod("b", "y")));
        let before = pool.len();
        drop(second);
        pool.prune();
        assert_eq!(pool.len(), before - 2, "the labels and the owner of the second");
        drop(first);
        pool.prune();
        assert!(pool.is_empty());
    }

    #[test]
    fn pods_that_come_and_go_leave_a_bounded_pool() {
        let mut pool = Pool::default();
        let mut most = 0;
        for number in 0..20_000 {
            drop(pool.share(pod("a", &format!("app-{number}"))));
            most = most.max(pool.len());
        }
        assert!(most < 5_000, "{most} parts, of which one pod has 5");
        let pods: Vec<Pod> = (0..5_000).map(|number| pool.share(pod("a", &format!("app-{number}")))).collect();
        assert!(pool.len() >= 2 * pods.len(), "labels and owner of each, as they are in use");
    }
}
