//! Objects that the API server has and that cannot be read.

use std::collections::BTreeMap;

use tracing::warn;

use super::resource::{Resource, WatchedObject};

/// Those of one resource, by name.
#[derive(Debug, Default)]
pub(super) struct UnreadableObjects {
    /// Why it cannot be read, and the list in which it was last seen.
    objects: BTreeMap<String, (String, u64)>,
    lists: u64,
}

// === impl UnreadableObjects ===

impl UnreadableObjects {
    /// A list begins.
    pub(super) fn begin_list(&mut self) {
        self.lists += 1;
    }

    /// A list is complete: objects that it did not contain are gone.
    pub(super) fn end_list(&mut self) {
        let list = self.lists;
        self.objects.retain(|_, (_, seen)| *seen == list);
    }

    /// Notes an object that cannot be read, and logs it.
    pub(super) fn insert(
        &mut self,
        resource: Resource,
        object: Option<&WatchedObject>,
        why: &str,
        is_on_known_node: bool,
    ) {
        let (resource, error) = (resource.name(), why);
        let Some(name) = object.map(|object| object.name().into_owned()) else {
            warn!(
                resource,
                error, "an object without a name cannot be read: it is not in view, and no node is out of view for it"
            );
            let why = format!("{why}; without a name, it puts no node out of view");
            self.objects.insert("one without a name".to_owned(), (why, self.lists));
            return;
        };
        let why = if is_on_known_node {
            warn!(
                resource,
                name, error, "an object cannot be read: it is not in view, and nothing is placed on its node"
            );
            why.to_owned()
        } else {
            warn!(
                resource,
                name,
                error,
                "a pod cannot be read, nor on which node it is: that node is in view as if the pod were not there"
            );
            format!("{why}; on which node it is cannot be read either")
        };
        self.objects.insert(name, (why, self.lists));
    }

    /// An object can be read, or is gone; whether it could not be read before.
    pub(super) fn remove(&mut self, object: &WatchedObject) -> bool {
        !self.objects.is_empty() && self.objects.remove(object.name().as_ref()).is_some()
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The first by name, and why.
    pub(super) fn first(&self) -> Option<String> {
        self.objects.first_key_value().map(|(name, (why, _))| format!("{name}: {why}"))
    }
}
