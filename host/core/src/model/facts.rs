//! Facts from outside the cluster: values by key, in named sources.
//!
//! ```text
//!  Gateway ── FactStore ──> Facts (immutable) ──> FactSource ──> FactValue
//!                             ↑                                     by key, or for a node
//!  Cluster ───────────────────┘   each snapshot has the facts that its requests see
//! ```
//!
//! A new value makes a new snapshot of the cluster, in which the nodes that it is about have changed: so a request sees
//! all facts as they were at one moment, and answers that were cached by other values stay.

mod access;
mod csv;
mod source;
mod store;
mod values;

use std::{collections::BTreeMap, sync::Arc};

pub(crate) use self::store::FactStore;
pub use self::{
    access::{AbsentFacts, FactAccess, SidecarFacts, check_source_name},
    source::{
        FactSource, FactValue, MAX_FACT_KEY_BYTES, MAX_FACT_TEXT_BYTES, MAX_FACTS, MAX_SOURCE_BYTES,
        MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS,
    },
};
use crate::model::{Node, Slots};

/// All facts at one moment, by source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    sources: BTreeMap<Arc<str>, Arc<FactSource>>,
}

/// The time of a request, and the facts for views that do not take them from the cluster in force: whole nodes, victims
/// and binds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moment {
    /// Unix seconds.
    pub(crate) now: u64,
    pub(crate) facts: Arc<Facts>,
}

// === impl Facts ===

impl Facts {
    /// The source with this name.
    pub fn source(&self, name: &str) -> Option<&Arc<FactSource>> {
        self.sources.get(name)
    }

    /// All sources by name.
    pub fn sources(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<FactSource>)> {
        self.sources.iter()
    }

    /// Adds a source, or puts it in the place of the one with its name.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, source: Arc<FactSource>) {
        self.sources.insert(name.into(), source);
    }

    /// A fact by its key.
    pub(crate) fn by_key(&self, source: &str, key: &str) -> Option<&FactValue> {
        self.sources.get(source)?.by_key(key)
    }

    /// The fact about a node.
    pub(crate) fn of_node(&self, source: &str, node: &Node) -> Option<&FactValue> {
        self.sources.get(source)?.of_node(node)
    }

    /// The slots whose nodes have another fact than in `earlier`, in any source.
    pub(crate) fn changed_slots(&self, earlier: &Self, slots: &Slots) -> Vec<u32> {
        let names = self.sources.keys().chain(earlier.sources.keys().filter(|name| !self.sources.contains_key(*name)));
        let both = names.map(|name| (self.sources.get(name), earlier.sources.get(name)));
        let differing: Vec<_> = both.filter(|(after, before)| !is_same(*after, *before)).collect();
        if differing.is_empty() {
            return Vec::new();
        }
        let has_changed = |node: &Node| {
            differing.iter().any(|(after, before)| {
                after.and_then(|after| after.of_node(node)) != before.and_then(|before| before.of_node(node))
            })
        };
        let changed = |(at, slot): (usize, &crate::model::Slot)| has_changed(&slot.node).then_some(at as u32);
        slots.iter().enumerate().filter_map(changed).collect()
    }
}

fn is_same(one: Option<&Arc<FactSource>>, other: Option<&Arc<FactSource>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl FromIterator<(Arc<str>, Arc<FactSource>)> for Facts {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<FactSource>)>>(sources: I) -> Self {
        Self { sources: sources.into_iter().collect() }
    }
}
