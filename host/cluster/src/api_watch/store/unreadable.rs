//! Objects that the API server has and that cannot be read.

use std::{collections::BTreeMap, sync::Arc};

use plimsoll_core::Pod;
use tracing::warn;

use super::{
    ClusterStore,
    by_name::{PodByName, PodName},
};
use crate::api_watch::resource::{Resource, UnreadableObject};

// === impl ClusterStore ===

impl ClusterStore {
    /// The number of objects that cannot be read; the first by name, and why.
    pub(in super::super) fn unreadable(&self, resource: Resource) -> (usize, Option<String>) {
        let mut objects = self.unreadable.values().map(|(object, _)| object).filter(|own| own.resource == resource);
        let first = objects.next().map(|object| format!("{}: {}", object.full_name(), object.why));
        (objects.count() + usize::from(first.is_some()), first)
    }

    /// An object cannot be read: its last known state is no longer valid, and its node is out of view.
    pub(super) fn put_unreadable(&mut self, mut object: UnreadableObject) {
        // A pod keeps its node for life, so its last known node is valid.
        object.pod = object.pod.map(|pod| match self.node_of(&pod) {
            Some(node) if pod.node().is_none() => pod.placed_on(&node, &BTreeMap::new(), &BTreeMap::new()),
            _ => pod,
        });
        self.remove_unreadable(&object);
        if let Some(node) = object.pod.as_ref().and_then(Pod::node) {
            let node: Arc<str> = node.into();
            self.entries.entry(Arc::clone(&node)).or_default().unreadable += 1;
            self.mark_dirty(&node);
        } else if object.resource == Resource::Pods {
            object.why.push_str("; on which node it is cannot be read either: that node stays in view");
        }
        let (resource, name) = (object.resource.name(), object.full_name());
        warn!(resource, name, error = object.why, "an object cannot be read: neither it nor its node is in view");
        let seen = self.lists[object.resource as usize];
        let key = (object.resource, object.namespace.clone(), object.name.clone());
        self.unreadable.insert(key, (object, seen));
    }

    /// An object that could not be read is gone, or its last known state is.
    pub(super) fn remove_unreadable(&mut self, object: &UnreadableObject) {
        match (object.resource, &object.pod) {
            (Resource::Nodes, _) => self.remove_node(&object.name),
            (Resource::Pods, Some(pod)) => self.remove_pod(pod),
            (Resource::Pods, None) => {}
            (Resource::Namespaces, _) => self.remove_namespace(&object.name),
        }
    }

    /// The node that a pod names, or that it was last seen on.
    pub(super) fn node_of(&self, pod: &Pod) -> Option<Arc<str>> {
        let is_same = |other: &Pod| pod.uid().is_empty() || other.uid() == pod.uid();
        let key = || (Resource::Pods, pod.namespace().to_owned(), pod.name().to_owned());
        let shown = || self.pods.get_key_value(&PodName::of(pod)).map(|(PodByName(shown), _)| shown.as_ref());
        let reserved = || self.reserved.get(pod.uid()).map(|reserved| reserved.pod.as_ref());
        let unreadable = || self.unreadable.get(&key())?.0.pod.as_ref();
        let known = || shown().or_else(unreadable).filter(|other| is_same(other)).or_else(reserved);
        pod.node().or_else(|| known()?.node()).map(Arc::from)
    }

    /// An object can be read, or is gone: if it could not be read before, its node comes back into view.
    pub(super) fn forget_unreadable(&mut self, resource: Resource, namespace: &str, name: &str) {
        if self.unreadable.is_empty() {
            return;
        }
        let Some((object, _)) = self.unreadable.remove(&(resource, namespace.to_owned(), name.to_owned())) else {
            return;
        };
        if let Some(node) = object.pod.as_ref().and_then(Pod::node)
            && let Some(entry) = self.entries.get_mut(node)
        {
            entry.unreadable = entry.unreadable.saturating_sub(1);
            self.mark_dirty(node);
        }
    }

    /// Forgets the objects that this list did not contain.
    pub(super) fn end_unreadable(&mut self, resource: Resource, list: u64) {
        let is_gone = |object: &UnreadableObject, seen: u64| object.resource == resource && seen < list;
        let gone = self.unreadable.iter().filter(|(_, (object, seen))| is_gone(object, *seen));
        for (resource, namespace, name) in gone.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.forget_unreadable(resource, &namespace, &name);
        }
    }
}
