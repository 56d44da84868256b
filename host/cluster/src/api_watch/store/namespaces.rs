//! The namespaces from their watch.

use std::{collections::HashMap, sync::Arc};

use plimsoll_core::{Namespace, Namespaces};

/// Namespaces by name; most clusters have few, and they rarely change.
#[derive(Debug, Default)]
pub(super) struct NamespaceStore {
    all: Namespaces,
    /// The list in which each was last seen.
    seen: HashMap<Arc<str>, u64>,
    /// Whether a list has been complete: before that they are not known.
    is_listed: bool,
    is_changed: bool,
}

// === impl NamespaceStore ===

impl NamespaceStore {
    /// A list is complete: namespaces that it did not contain are gone.
    pub(super) fn end(&mut self, list: u64) {
        for (name, _) in self.seen.extract_if(|_, seen| *seen != list) {
            self.is_changed |= Arc::make_mut(&mut self.all).remove(&name).is_some();
        }
        self.is_changed |= !self.is_listed;
        self.is_listed = true;
    }

    /// A namespace as it is now; none: it cannot be read, and so it is not known.
    pub(super) fn put(&mut self, name: Arc<str>, namespace: Option<Namespace>, list: u64) {
        let Some(namespace) = namespace else { return self.remove(&name) };
        if self.all.get(&name).is_none_or(|own| **own != namespace) {
            Arc::make_mut(&mut self.all).insert(Arc::clone(&name), Arc::new(namespace));
            self.is_changed = true;
        }
        self.seen.insert(name, list);
    }

    pub(super) fn remove(&mut self, name: &str) {
        if self.seen.remove(name).is_some() {
            Arc::make_mut(&mut self.all).remove(name);
            self.is_changed = true;
        }
    }

    /// Whether they differ from those that were published last.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed && self.is_listed
    }

    /// All of them; none before the first list is complete.
    pub(super) fn publish(&mut self) -> Option<Namespaces> {
        self.is_changed &= !self.is_listed;
        self.is_listed.then(|| Arc::clone(&self.all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(store: &mut NamespaceStore, name: &str, tenant: &str, list: u64) {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"tenant":"{tenant}"}}}}}}"#);
        store.put(name.into(), Some(Namespace::from_json(json.as_bytes()).unwrap()), list);
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
        put(&mut store, "web", "a", 1);
        put(&mut store, "ml", "b", 1);
        assert!(!store.is_changed() && store.publish().is_none());
        store.end(1);
        let first = store.publish().unwrap();
        assert_eq!(tenants(&first), ["ml=b", "web=a"]);
        put(&mut store, "web", "a", 1);
        store.remove("other");
        assert!(!store.is_changed());
        assert!(Arc::ptr_eq(&store.publish().unwrap(), &first));
        put(&mut store, "web", "c", 1);
        assert_eq!(tenants(&store.publish().unwrap()), ["ml=b", "web=c"]);
        put(&mut store, "web", "c", 2);
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
