//! Shapes: the keys of selectors, without their values.

use hashbrown::Equivalent;
use plimsoll_decision_cache::Fingerprint;

use crate::{Entries, Node, Pod, Selector, object::NOT_KEPT};

/// The quantity that is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Measure<T> {
    /// 1 for each pod.
    Pods,
    /// Each pod's request of a resource.
    Requested(T),
    /// 1 for each node.
    Nodes,
}

/// The keys that tell the groups of a table apart, and the quantity that each adds up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape<T> {
    by_namespace: bool,
    label: Option<T>,
    annotation: Option<T>,
    node_label: Option<T>,
    measure: Measure<T>,
}

/// The values of a group: the namespace, and those of the label, the annotation and the label of the node.
type Values<'v> = [Option<&'v str>; 4];

// === impl Shape ===

impl<'a> Shape<&'a str> {
    pub(crate) fn of(selector: &Selector<&'a str>, measure: Measure<&'a str>) -> Self {
        let key = |pair: Option<(&'a str, &'a str)>| pair.map(|(key, _)| key);
        Self {
            by_namespace: selector.namespace.is_some(),
            label: key(selector.label),
            annotation: key(selector.annotation),
            node_label: key(selector.node_label),
            measure,
        }
    }

    /// The quantity that is added up.
    pub(crate) fn measure(&self) -> Measure<&'a str> {
        self.measure
    }

    pub(super) fn to_owned(&self) -> Shape<Box<str>> {
        self.map(|text| Box::from(*text))
    }
}

impl<T> Shape<T> {
    fn map<'s, U>(&'s self, text: impl Fn(&'s T) -> U) -> Shape<U> {
        Shape {
            by_namespace: self.by_namespace,
            label: self.label.as_ref().map(&text),
            annotation: self.annotation.as_ref().map(&text),
            node_label: self.node_label.as_ref().map(&text),
            measure: match &self.measure {
                Measure::Pods => Measure::Pods,
                Measure::Requested(name) => Measure::Requested(text(name)),
                Measure::Nodes => Measure::Nodes,
            },
        }
    }
}

impl<T: AsRef<str>> Shape<T> {
    /// Its keys, and the name of its resource.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let resource = if let Measure::Requested(name) = &self.measure { Some(name) } else { None };
        let texts = [self.label.as_ref(), self.annotation.as_ref(), self.node_label.as_ref(), resource];
        texts.into_iter().flatten().map(AsRef::as_ref)
    }
}

impl Shape<Box<str>> {
    pub(super) fn borrowed(&self) -> Shape<&str> {
        self.map(AsRef::as_ref)
    }

    /// The label of pods that it names.
    pub(super) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The group of a pod and the amount that it adds there; none if it has not all that the shape names, or adds
    /// nothing.
    pub(super) fn of_pod(&self, pod: &Pod, node: Option<&Node>) -> Option<(Fingerprint, i128)> {
        let label = value(self.label.as_deref(), || Some(pod.labels()))?;
        self.of_pod_with(label, pod, node)
    }

    /// The same for a pod whose value of the [`label`](Self::label) is known.
    pub(super) fn of_pod_with(
        &self,
        label: Option<&str>,
        pod: &Pod,
        node: Option<&Node>,
    ) -> Option<(Fingerprint, i128)> {
        let amount = match &self.measure {
            Measure::Pods => 1,
            Measure::Requested(name) => i128::from(pod.requests().get(name)),
            Measure::Nodes => return None,
        };
        let annotation = value(self.annotation.as_deref(), || Some(pod.annotations()))?;
        let node_label = value(self.node_label.as_deref(), || Some(node?.labels()))?;
        let namespace = self.by_namespace.then(|| pod.namespace());
        (amount != 0).then(|| (group([namespace, label, annotation, node_label]), amount))
    }

    /// The group of a node; none if the shape does not count nodes, or the node does not have the label.
    pub(super) fn of_node(&self, node: &Node) -> Option<Fingerprint> {
        if self.measure != Measure::Nodes {
            return None;
        }
        let label = value(self.node_label.as_deref(), || Some(node.labels()))?;
        Some(group([None, None, None, label]))
    }

    /// Whether nodes are counted, and not pods.
    pub(super) fn is_of_nodes(&self) -> bool {
        self.measure == Measure::Nodes
    }
}

impl Equivalent<std::sync::Arc<Shape<Box<str>>>> for Shape<&str> {
    fn equivalent(&self, shape: &std::sync::Arc<Shape<Box<str>>>) -> bool {
        *self == shape.borrowed()
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
