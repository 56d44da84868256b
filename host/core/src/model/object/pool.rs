//! Keeps once the parts that placed pods have in common.

use std::{hash::Hash, sync::Arc};

use hashbrown::HashSet;

use super::{AntiAffinity, Entries, Owner, Pod, Quantities};

/// Texts and maps by their contents: the pods of one deployment share labels, annotations and requests.
///
/// Parts that no pod has any more are dropped by pruning, once there are twice as many parts as the last pruning left: so
/// its cost per pod is constant.
#[derive(Debug, Default)]
pub struct Pool {
    texts: Set<str>,
    entries: Set<Entries>,
    quantities: Set<Quantities>,
    owners: Set<Owner>,
    anti_affinities: Set<AntiAffinity>,
    /// The number of parts that the last pruning left.
    used: usize,
}

type Set<T> = HashSet<Arc<T>, foldhash::fast::RandomState>;

/// Pruning looks at every part, so it waits for at least this many new ones.
const MIN_ADDED: usize = 1024;

// === impl Pool ===

impl Pool {
    /// The same pod with parts that other pods of the pool may have too.
    #[must_use]
    pub fn share(&mut self, mut pod: Pod) -> Pod {
        for text in
            [&mut pod.node, &mut pod.priority_class, &mut pod.group].into_iter().flatten().chain([&mut pod.namespace])
        {
            share(&mut self.texts, text);
        }
        if let Some(owner) = &mut pod.controller {
            share(&mut self.owners, owner);
        }
        if let Some(own) = &mut pod.anti_affinity {
            share(&mut self.anti_affinities, own);
        }
        share(&mut self.entries, &mut pod.labels);
        share(&mut self.entries, &mut pod.annotations);
        share(&mut self.quantities, &mut pod.requests);
        if self.len() > self.used + self.used.max(MIN_ADDED) {
            self.prune();
        }
        pod
    }

    /// Drops the parts that no pod has any more.
    pub fn prune(&mut self) {
        prune(&mut self.texts);
        prune(&mut self.entries);
        prune(&mut self.quantities);
        prune(&mut self.owners);
        prune(&mut self.anti_affinities);
        self.used = self.len();
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        let maps = self.entries.len() + self.quantities.len();
        self.texts.len() + maps + self.owners.len() + self.anti_affinities.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Replaces a part by an equal one of the set, or adds it.
fn share<T: ?Sized + Hash + Eq>(set: &mut Set<T>, own: &mut Arc<T>) {
    *own = Arc::clone(set.get_or_insert_with(own, Arc::clone));
}

fn prune<T: ?Sized + Hash + Eq>(set: &mut Set<T>) {
    set.retain(|part| Arc::strong_count(part) > 1);
    // Room for as many again, so that a growing set is not rehashed by each pruning.
    set.shrink_to(2 * set.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, app: &str) -> Pod {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"web","labels":{{"app":"{app}"}},
                    "ownerReferences":[{{"kind":"ReplicaSet","name":"{app}","controller":true}}]}},
                "spec":{{"nodeName":"n1","priorityClassName":"high","affinity":{{"podAntiAffinity":
                    {{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"zone"}}]}}}},"containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}"#
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
        assert!(Arc::ptr_eq(pods[0].anti_affinity.as_ref().unwrap(), pods[2].anti_affinity.as_ref().unwrap()));
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
        assert!(most < 5_000, "{most} parts, of which one pod has 6");
        let pods: Vec<Pod> = (0..5_000).map(|number| pool.share(pod("a", &format!("app-{number}")))).collect();
        assert!(pool.len() >= 2 * pods.len(), "labels and owner of each, as they are in use");
    }
}
