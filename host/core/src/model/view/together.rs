//! Reads of all nodes at once, in place of one read for each. Columns answer them, so that the nodes themselves are
//! looked at only where they have changed.

use hashbrown::HashMap;

use plimsoll_decision_cache::Fingerprint;

use super::{View, source::fingerprints_of_nodes};
use crate::model::{Grouping, NodeRead, Read, Value};

impl View {
    /// The nodes by the value of a label.
    pub(super) fn by_label(&self, label: &str) -> Grouping<'_> {
        let keys = fingerprints_of_nodes(self, Read::Node(0, NodeRead::Label(label))).unwrap_or_default();
        let mut values = Vec::new();
        let mut known: HashMap<Fingerprint, u32, foldhash::fast::RandomState> = HashMap::default();
        let mut groups = Vec::with_capacity(keys.len());
        for (node, key) in keys.into_iter().enumerate() {
            let group = known.get(&key).copied().unwrap_or_else(|| {
                let group = self.label(node as u32, label).map_or(u32::MAX, |value| {
                    values.push(value);
                    values.len() as u32 - 1
                });
                known.insert(key, group);
                group
            });
            groups.push(group);
        }
        // The number of values is known only here.
        let none = values.len() as u32;
        for group in &mut groups {
            *group = none.min(*group);
        }
        Grouping { values, groups }
    }

    /// A count of placed pods of each node, by the read of one.
    pub(super) fn counts<'r>(&self, of: impl Fn(u32) -> Read<'r>) -> Value<'static> {
        let count = |node| match self.answer(of(node)) {
            Ok(Value::Number(count)) => count as u32,
            _ => 0,
        };
        // A column tells of all pods, those that are taken as gone included.
        let keys = self.gone.is_empty().then(|| fingerprints_of_nodes(self, of(0)));
        Value::Counts(match keys.flatten() {
            Some(keys) => keys.into_iter().map(|key| key.as_number().unwrap_or(0) as u32).collect(),
            None => (0..self.slots.len() as u32).map(count).collect(),
        })
    }

    fn label(&self, node: u32, key: &str) -> Option<&str> {
        self.slot(node).ok()?.node.labels().get(key)
    }
}
