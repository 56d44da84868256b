//! The namespaces from their watch.

use std::{collections::HashMap, sync::Arc};

use plimsoll_core::{Namespace, Namespaces};

/// Namespaces by name; most clusters have few, and they rarely change.
#[derive(Debug, Default)]
pub(super) struct NamespaceStore {
    /// Each with the list in which it was last seen.
    all: HashMap<Arc<str>, (Arc<Namespace>, u64)>,
    /// Whether a list has been complete: before that they are not known.
    is_listed: bool,
    is_changed: bool,
    published: Option<Namespaces>,
}

// === impl NamespaceStore ===

impl NamespaceStore {
    /// A list is complete: namespaces that it did not contain are gone.
    pub(super) fn end(&mut self, list: u64) {
        let before = self.all.len();
        self.all.retain(|_, (_, seen)| *seen == list);
        self.is_changed |= !self.is_listed || self.all.len() != before;
        self.is_listed = true;
    }

    pub(super) fn put(&mut self, namespace: Namespace, seen: u64) {
        if let Some((own, own_seen)) = self.all.get_mut(namespace.name())
            && **own == namespace
        {
            *own_seen = seen;
            return;
        }
        self.all.insert(Arc::clone(namespace.name()), (Arc::new(namespace), seen));
        self.is_changed = true;
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.is_changed |= self.all.remove(name).is_some();
    }

    /// Whether they differ from those that were published last.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed && self.is_listed
    }

    /// All of them; none before the first list is complete.
    pub(super) fn publish(&mut self) -> Option<Namespaces> {
        if self.is_changed() {
            let all = self.all.iter().map(|(name, (namespace, _))| (Arc::clone(name), Arc::clone(namespace)));
            self.published = Some(Arc::new(all.collect()));
            self.is_changed = false;
        }
        self.published.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str, tenant: &str) -> Namespace {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"tenant":"{tenant}"}}}}}}"#);
        Namespace::from_json(json.as_bytes()).unwrap()
    }

    fn tenants(namespaces: &Namespaces) -> Vec<String> {
        let mut all: Vec<String> =
            namespaces.values().map(|own| format!("{}={}", own.name(), own.labels().get("tenant").unwrap())).collect();
        all.sort();
        all
    }

    #[test]
    fn they_are_known_once_they_are_listed_and_are_the_same_record_until_one_changes() {
        let mut store = NamespaceStore::default();
        store.put(namespace("web", "a"), 1);
        store.put(namespace("ml", "b"), 1);
        assert!(!store.is_changed() && store.publish().is_none());
        store.end(1);
        let first = store.publish().unwrap();
        assert_eq!(tenants(&first), ["ml=b", "web=a"]);
        store.put(namespace("web", "a"), 1);
        store.remove("other");
        assert!(!store.is_changed());
        assert!(Arc::ptr_eq(&store.publish().unwrap(), &first));
        store.put(namespace("web", "c"), 1);
        assert_eq!(tenants(&store.publish().unwrap()), ["ml=b", "web=c"]);
        store.put(namespace("web", "c"), 2);
        store.end(2);
        assert_eq!(tenants(&store.publish().unwrap()), ["web=c"]);
        store.remove("web");
        assert!(store.is_changed() && store.publish().unwrap().is_empty());
    }

    #[test]
    fn a_cluster_without_a_namespace_is_known_to_have_none() {
        let mut store = NamespaceStore::default();
        store.end(1);
        assert!(store.is_changed() && store.publish().unwrap().is_empty());
    }
}
