//! Namespaces and DeviceClasses from their watches.

use std::{collections::HashMap, sync::Arc};

use hashbrown::HashMap as SharedMap;

/// Objects by name; most clusters have few, and they rarely change.
#[derive(Debug)]
pub(super) struct NamedStore<T> {
    all: Arc<SharedMap<Arc<str>, Arc<T>>>,
    /// The list in which each was last seen.
    seen: HashMap<Arc<str>, u64>,
    /// Whether a list has been complete: before that they are not known.
    is_listed: bool,
    is_changed: bool,
}

// === impl NamedStore ===

impl<T: PartialEq> NamedStore<T> {
    /// A list is complete: objects that it did not contain are gone.
    pub(super) fn end(&mut self, list: u64) {
        for (name, _) in self.seen.extract_if(|_, seen| *seen != list) {
            self.is_changed |= Arc::make_mut(&mut self.all).remove(&name).is_some();
        }
        self.is_changed |= !self.is_listed;
        self.is_listed = true;
    }

    /// An object as it is now; none: it cannot be read, and so it is not known.
    pub(super) fn put(&mut self, name: Arc<str>, object: Option<T>, list: u64) {
        let Some(object) = object else { return self.remove(&name) };
        if self.all.get(&name).is_none_or(|known| **known != object) {
            Arc::make_mut(&mut self.all).insert(Arc::clone(&name), Arc::new(object));
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
    pub(super) fn publish(&mut self) -> Option<Arc<SharedMap<Arc<str>, Arc<T>>>> {
        self.is_changed &= !self.is_listed;
        self.is_listed.then(|| Arc::clone(&self.all))
    }
}

impl<T> Default for NamedStore<T> {
    fn default() -> Self {
        Self { all: Arc::default(), seen: HashMap::new(), is_listed: false, is_changed: false }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Namespace, Namespaces};

    use super::*;

    fn put(store: &mut NamedStore<Namespace>, name: &str, tenant: &str, list: u64) {
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
        let mut store = NamedStore::<Namespace>::default();
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
        let mut store = NamedStore::<Namespace>::default();
        store.end(1);
        assert!(store.is_changed() && store.publish().unwrap().is_empty());
    }
}
