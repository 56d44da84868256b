//! Keeps once the parts that placed pods have in common.

use std::{
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use hashbrown::HashSet;

use super::{Entries, Owner, Pod, Quantities};

/// Texts and maps by their contents: the pods of one deployment share labels, annotations and requests.
#[derive(Debug, Default)]
pub struct Pool {
    texts: Set<str>,
    entries: Set<Entries>,
    quantities: Set<Quantities>,
    owners: Set<Owner>,
}

type Set<T> = HashSet<Arc<T>, foldhash::fast::RandomState>;

// === impl Pool ===

impl Pool {
    /// The same pod with parts that other pods of the pool may have too.
    #[must_use]
    pub fn share(&mut self, mut pod: Pod) -> Pod {
        share(&mut self.texts, &mut pod.namespace);
        for text in pod.node.iter_mut().chain(&mut pod.priority_class) {
            share(&mut self.texts, text);
        }
        if let Some(owner) = &mut pod.controller {
            share(&mut self.owners, owner);
        }
        share(&mut self.entries, &mut pod.labels);
        share(&mut self.entries, &mut pod.annotations);
        share(&mut self.quantities, &mut pod.requests);
        pod
    }

    /// Lets go of parts that no pod has any more.
    pub fn prune(&mut self) {
        prune(&mut self.texts);
        prune(&mut self.entries);
        prune(&mut self.quantities);
        prune(&mut self.owners);
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

fn share<T: ?Sized + Hash + Eq, S: BuildHasher>(set: &mut HashSet<Arc<T>, S>, own: &mut Arc<T>) {
    let shared = set.get_or_insert_with(own, Arc::clone);
    *own = Arc::clone(shared);
}

fn prune<T: ?Sized + Hash + Eq, S: BuildHasher>(set: &mut HashSet<Arc<T>, S>) {
    set.retain(|part| Arc::strong_count(part) > 1);
    set.shrink_to_fit();
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
    fn what_no_pod_has_is_let_go() {
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
}
