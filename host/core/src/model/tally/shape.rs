//! Shapes: the keys of selectors, without their values; and the limit of shapes that one policy may name.

use std::hash::Hash;

use hashbrown::HashSet;
use parking_lot::RwLock;
use plimsoll_decision_cache::Fingerprint;

use crate::model::{Entries, Node, Pod, Selector, object::NOT_KEPT};

/// Maximum shapes of one policy. One that takes its keys from data would otherwise have a walk over all pods made again
/// and again, and displace the tables of other policies.
pub(crate) const MAX_SHAPES: usize = 16;

/// Maximum bytes of a key or of the name of a resource. Kubernetes allows 317: a prefix of 253, a slash and a name of 63.
pub(crate) const MAX_KEY_BYTES: usize = 317;

/// The keys that tell the groups of a table apart, and the resource whose requests each adds up; none: it counts pods.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Shape<T> {
    by_namespace: bool,
    label: Option<T>,
    annotation: Option<T>,
    node_label: Option<T>,
    requested: Option<T>,
}

/// Why a policy may not name keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAdmitted {
    /// It has named [`MAX_SHAPES`] others.
    TooMany,
    /// A key has this many bytes.
    LongKey(usize),
}

/// The shapes that one version of a policy has named.
#[derive(Debug, Default)]
pub struct ShapeLimit {
    named: RwLock<HashSet<Fingerprint, foldhash::fast::RandomState>>,
}

/// The values of a group: the namespace, and those of the label, the annotation and the label of the node.
type Values<'v> = [Option<&'v str>; 4];

// === impl Shape ===

impl<'a> Shape<&'a str> {
    pub(crate) fn of(selector: &Selector<&'a str>, requested: Option<&'a str>) -> Self {
        let key = |pair: Option<(&'a str, &'a str)>| pair.map(|(key, _)| key);
        Self {
            by_namespace: selector.namespace.is_some(),
            label: key(selector.label),
            annotation: key(selector.annotation),
            node_label: key(selector.node_label),
            requested,
        }
    }

    pub(super) fn into_kept(self) -> Shape<Box<str>> {
        Shape {
            by_namespace: self.by_namespace,
            label: self.label.map(Box::from),
            annotation: self.annotation.map(Box::from),
            node_label: self.node_label.map(Box::from),
            requested: self.requested.map(Box::from),
        }
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }

    /// The longest of its keys, in bytes.
    fn longest_key(&self) -> usize {
        let keys = [self.label, self.annotation, self.node_label, self.requested];
        keys.into_iter().flatten().map(str::len).max().unwrap_or(0)
    }
}

impl Shape<Box<str>> {
    /// The group of a pod and the amount that it adds there; none if it has not all that the shape names, or adds
    /// nothing.
    pub(super) fn of_pod(&self, pod: &Pod, node: Option<&Node>) -> Option<(Fingerprint, i128)> {
        let amount = self.requested.as_ref().map_or(1, |name| i128::from(pod.requests().get(name)));
        let label = value(self.label.as_deref(), || Some(pod.labels()))?;
        let annotation = value(self.annotation.as_deref(), || Some(pod.annotations()))?;
        let node_label = value(self.node_label.as_deref(), || Some(node?.labels()))?;
        let namespace = self.by_namespace.then(|| pod.namespace());
        (amount != 0).then(|| (group([namespace, label, annotation, node_label]), amount))
    }
}

// === impl ShapeLimit ===

impl ShapeLimit {
    /// Notes that the policy names this shape.
    ///
    /// # Errors
    /// If it has named the maximum of others, or a key is longer than any that an object can have.
    pub(crate) fn admit(&self, shape: &Shape<&str>) -> Result<(), NotAdmitted> {
        self.admit_keys(shape.fingerprint(), shape.longest_key())
    }

    /// The same for the key of a label whose nodes are counted.
    pub(crate) fn admit_node_label(&self, key: &str) -> Result<(), NotAdmitted> {
        self.admit_keys(Fingerprint::of(key), key.len())
    }

    fn admit_keys(&self, keys: Fingerprint, longest: usize) -> Result<(), NotAdmitted> {
        if self.named.read().contains(&keys) {
            return Ok(());
        }
        if longest > MAX_KEY_BYTES {
            return Err(NotAdmitted::LongKey(longest));
        }
        let mut named = self.named.write();
        if named.len() >= MAX_SHAPES && !named.contains(&keys) {
            return Err(NotAdmitted::TooMany);
        }
        named.insert(keys);
        Ok(())
    }
}

/// The group of a selector's values.
pub(super) fn group_of(selector: &Selector<&str>) -> Fingerprint {
    group(values(selector))
}

/// The group of pods that have the annotation with a value too large to be kept, and match the rest of the selector.
pub(super) fn group_of_not_kept(selector: &Selector<&str>) -> Option<Fingerprint> {
    let (_, value) = selector.annotation?;
    let mut values = values(selector);
    values[2] = Some(NOT_KEPT);
    (value != NOT_KEPT).then(|| group(values))
}

fn values<'v>(selector: &Selector<&'v str>) -> Values<'v> {
    let value = |pair: Option<(&'v str, &'v str)>| pair.map(|(_, value)| value);
    [selector.namespace, value(selector.label), value(selector.annotation), value(selector.node_label)]
}

fn group(values: Values<'_>) -> Fingerprint {
    Fingerprint::of(&values)
}

/// The value of a key, where one is named; the outer option is none if it is not there.
#[expect(clippy::option_option, reason = "a part that is not named, and one that is not there, are not the same")]
fn value<'v>(key: Option<&str>, entries: impl FnOnce() -> Option<&'v Entries>) -> Option<Option<&'v str>> {
    match key {
        Some(key) => entries()?.get(key).map(Some),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(limit: &ShapeLimit, key: &str, value: &str) -> Result<(), NotAdmitted> {
        limit.admit(&Shape::of(&Selector { label: Some((key, value)), ..Selector::all() }, None))
    }

    #[test]
    fn a_policy_may_name_any_value_but_few_keys() {
        let limit = ShapeLimit::default();
        for key in 1..MAX_SHAPES {
            for value in ["a", "b"] {
                assert_eq!(admit(&limit, &key.to_string(), value), Ok(()));
            }
        }
        assert_eq!(limit.admit_node_label("zone"), Ok(()));
        assert_eq!(admit(&limit, "one more", "a"), Err(NotAdmitted::TooMany));
        assert_eq!(limit.admit_node_label("one more"), Err(NotAdmitted::TooMany));
        assert_eq!(admit(&limit, "1", "c"), Ok(()), "keys that it has named stay");
    }

    #[test]
    fn a_key_that_no_object_can_have_is_refused() {
        let limit = ShapeLimit::default();
        let long = "k".repeat(MAX_KEY_BYTES + 1);
        assert_eq!(admit(&limit, &long[1..], &"v".repeat(5000)), Ok(()));
        assert_eq!(admit(&limit, &long, "v"), Err(NotAdmitted::LongKey(MAX_KEY_BYTES + 1)));
    }
}
