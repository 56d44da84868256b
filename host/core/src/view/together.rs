//! Reads of all nodes at once: what else would be one read for each.

use hashbrown::HashMap;

use super::View;
use crate::{Grouping, Pod};

impl View {
    /// The nodes by the value of a label.
    pub(super) fn by_label(&self, key: &str) -> Grouping<'_> {
        let mut grouping = Grouping { values: Vec::new(), groups: Vec::with_capacity(self.nodes.len()) };
        let mut known: HashMap<&str, u32, foldhash::fast::RandomState> = HashMap::default();
        for slot in self.nodes.iter() {
            let value = self.cluster.slots().get(*slot as usize).and_then(|slot| slot.node.labels().get(key));
            grouping.groups.push(value.map_or(u32::MAX, |value| {
                *known.entry(value).or_insert_with(|| {
                    grouping.values.push(value);
                    grouping.values.len() as u32 - 1
                })
            }));
        }
        // Only now it is known how many values there are.
        let none = grouping.values.len() as u32;
        grouping.groups.iter_mut().for_each(|group| *group = none.min(*group));
        grouping
    }

    /// By node how many of its pods are of a namespace and carry a label with this value.
    pub(super) fn counts_labelled(&self, namespace: &str, key: &str, value: &str) -> Vec<u32> {
        let count = |node| self.placed(node).map_or(0, |pods| labelled(pods.map(AsRef::as_ref), namespace, key, value));
        (0..self.nodes.len() as u32).map(count).collect()
    }
}

/// How many pods are of a namespace and carry a label with this value.
pub(super) fn labelled<'p>(pods: impl Iterator<Item = &'p Pod>, namespace: &str, key: &str, value: &str) -> u32 {
    pods.filter(|pod| pod.namespace() == namespace && pod.labels().get(key) == Some(value)).count() as u32
}
