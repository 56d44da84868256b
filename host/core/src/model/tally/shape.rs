//! Shapes: the keys of selectors, without their values.

use std::hash::Hash;

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

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }

    /// The longest of its keys, in bytes.
    pub(crate) fn longest_key(&self) -> usize {
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
