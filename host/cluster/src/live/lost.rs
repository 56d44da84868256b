//! Objects that the API server has and that cannot be read.

use std::collections::BTreeMap;

use super::resource::WatchedObject;

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

    /// An object cannot be read.
    pub(super) fn lose(&mut self, name: String, why: &str) {
        self.objects.insert(name, (why.to_owned(), self.lists));
    }

    /// An object can be read, or is gone; whether it could not be read before.
    pub(super) fn find(&mut self, object: &WatchedObject) -> bool {
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
