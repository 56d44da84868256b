//! The facts in force, from the sources of the gateway and from those of policies.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::{FactSource, Facts};

type SourceMap = BTreeMap<Arc<str>, Arc<FactSource>>;

/// Holds the facts in force.
#[derive(Debug, Default)]
pub(crate) struct FactStore {
    current: ArcSwap<Facts>,
    origins: Mutex<Origins>,
}

#[derive(Debug, Default)]
struct Origins {
    /// Those of the gateway, which the operator declares.
    gateway: SourceMap,
    /// Those that come with the policies of the roster in force.
    sidecars: SourceMap,
    /// Those of the roster before: requests in flight may still ask its policies.
    before: SourceMap,
}

// === impl FactStore ===

impl FactStore {
    /// The facts in force.
    pub(crate) fn current(&self) -> Arc<Facts> {
        self.current.load_full()
    }

    /// Replaces the sources of the gateway; whether anything changes.
    pub(crate) fn set_gateway_sources(&self, facts: &Facts) -> bool {
        self.change(|origins| origins.gateway.clone_from(&facts.sources))
    }

    /// Replaces the sources that come with policies; whether anything changes.
    pub(crate) fn set_sidecar_sources(&self, sources: SourceMap) -> bool {
        self.change(|origins| origins.before = std::mem::replace(&mut origins.sidecars, sources))
    }

    fn change(&self, change: impl FnOnce(&mut Origins)) -> bool {
        let mut origins = self.origins.lock();
        change(&mut origins);
        let mut facts = Facts::default();
        for (name, source) in origins.before.iter().chain(&origins.sidecars).chain(&origins.gateway) {
            facts.insert(Arc::clone(name), Arc::clone(source));
        }
        let before = self.current.load();
        // A source with the same values stays the same, so that nothing is compared that follows from it.
        for (name, source) in &mut facts.sources {
            if let Some(known) = before.sources.get(name).filter(|known| known == &source) {
                *source = Arc::clone(known);
            }
        }
        let is_other = facts != **before;
        if is_other {
            self.current.store(Arc::new(facts));
        }
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(value: &str) -> Arc<FactSource> {
        Arc::new(FactSource::from_texts([("k", value)]).unwrap())
    }

    fn value(store: &FactStore, name: &str) -> Option<String> {
        store.current().by_key(name, "k").map(|value| value.text().to_owned())
    }

    #[test]
    fn the_same_values_change_nothing() {
        let store = FactStore::default();
        let of = |value| Facts::from_iter([(Arc::from("load"), source(value))]);
        assert!(store.set_gateway_sources(&of("1")));
        let first = store.current();
        assert!(!store.set_gateway_sources(&of("1")));
        assert!(Arc::ptr_eq(&first, &store.current()));
        assert!(store.set_gateway_sources(&of("2")));
    }

    #[test]
    fn the_sources_of_the_roster_before_stay_for_requests_in_flight() {
        let store = FactStore::default();
        let own = |name: &str, value| SourceMap::from([(Arc::from(name), source(value))]);
        store.set_sidecar_sources(own("file:a.csv", "1"));
        store.set_sidecar_sources(own("file:b.csv", "2"));
        assert_eq!(value(&store, "file:a.csv").as_deref(), Some("1"));
        assert_eq!(value(&store, "file:b.csv").as_deref(), Some("2"));
        store.set_sidecar_sources(own("file:b.csv", "3"));
        assert_eq!(value(&store, "file:a.csv"), None);
        assert_eq!(value(&store, "file:b.csv").as_deref(), Some("3"), "the roster in force counts");
    }
}
