//! A table by name that is read on the request path: no lock, and no copy of the name.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;

/// One `T` for each name, made when it is first asked for.
pub(super) struct ByName<T>(ArcSwap<HashMap<Arc<str>, Arc<T>>>);

// === impl ByName ===

impl<T: Default> ByName<T> {
    /// The value for a name.
    pub(super) fn with<R>(&self, name: &str, work: impl FnOnce(&T) -> R) -> R {
        match self.0.load().get(name) {
            Some(known) => work(known),
            None => work(&self.add(name)),
        }
    }

    /// Drops all names except these.
    pub(super) fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.0.rcu(|table| {
            let kept = table.iter().filter(|(name, _)| keep(name));
            kept.map(|(name, known)| (Arc::clone(name), Arc::clone(known))).collect::<HashMap<_, _>>()
        });
    }

    /// A second caller gets the existing value.
    fn add(&self, name: &str) -> Arc<T> {
        let name: Arc<str> = Arc::from(name);
        let mut added = Arc::default();
        self.0.rcu(|table| {
            let mut table = HashMap::clone(table);
            added = Arc::clone(table.entry(Arc::clone(&name)).or_default());
            table
        });
        added
    }
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(ArcSwap::default())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering::Relaxed},
        thread,
    };

    use super::*;

    #[test]
    fn every_name_has_one_value_whoever_asks_first() {
        let table = ByName::<AtomicU64>::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for name in 0..100 {
                        table.with(&name.to_string(), |count| count.fetch_add(1, Relaxed));
                    }
                });
            }
        });
        assert!((0..100).all(|name| table.with(&name.to_string(), |count| count.load(Relaxed)) == 4));
    }

    #[test]
    fn a_name_that_was_dropped_starts_over() {
        let table = ByName::<AtomicU64>::default();
        let add = |name| table.with(name, |count| count.fetch_add(1, Relaxed));
        assert_eq!(["a", "b"].map(add), [0, 0]);
        table.retain(|name| name == "a");
        assert_eq!(["a", "b"].map(add), [1, 0]);
    }
}
