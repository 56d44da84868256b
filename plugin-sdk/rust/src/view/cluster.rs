use super::{Candidate, Node, Nodes};
use crate::door::Door;

/// All nodes and pods that the gateway knows, those outside of the request included.
///
/// A pod counts from the moment it is being bound until it has succeeded or failed, or is deleted: so a pod that
/// terminates still counts, and one that waits for a node does not. The pod being scheduled never counts. Every answer is
/// none where the gateway has no view of the cluster.
///
/// Read it again for each node: the host keeps answers by the values that were read for that node, so a value that is
/// kept from one call to the next makes cached answers wrong.
#[derive(Debug, Clone, Copy)]
pub struct Cluster<'a> {
    pub(super) door: Door<'a>,
}

/// Which pods a read of the [`Cluster`] is about: those for which all given parts hold.
///
/// ```
/// use plimsoll_policy::Selector;
///
/// let selector = Selector::all().label("licence", "matlab").node_label("pool", "lab");
/// # let _ = selector;
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Selector<'s> {
    pub(crate) namespace: Option<&'s str>,
    pub(crate) label: Option<(&'s str, &'s str)>,
    pub(crate) annotation: Option<(&'s str, &'s str)>,
    pub(crate) node_label: Option<(&'s str, &'s str)>,
}

/// A value of a node label, and how many nodes have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelCount<'a> {
    /// The value.
    pub value: &'a str,
    /// The number of nodes that have it.
    pub nodes: u32,
}

// === impl Selector ===

impl<'s> Selector<'s> {
    /// Every pod.
    pub const fn all() -> Self {
        Self { namespace: None, label: None, annotation: None, node_label: None }
    }

    /// Only pods of a namespace.
    #[must_use]
    pub const fn namespace(mut self, namespace: &'s str) -> Self {
        self.namespace = Some(namespace);
        self
    }

    /// Only pods that carry a label with this value; the last one given counts.
    #[must_use]
    pub const fn label(mut self, key: &'s str, value: &'s str) -> Self {
        self.label = Some((key, value));
        self
    }

    /// Only pods that carry an annotation with this value; the last one given counts.
    #[must_use]
    pub const fn annotation(mut self, key: &'s str, value: &'s str) -> Self {
        self.annotation = Some((key, value));
        self
    }

    /// Only pods on nodes that carry a label with this value; the last one given counts.
    #[must_use]
    pub const fn node_label(mut self, key: &'s str, value: &'s str) -> Self {
        self.node_label = Some((key, value));
        self
    }
}

// === impl Node, Nodes, Candidate ===

impl<'a> Node<'a> {
    /// The cluster that the node is part of.
    pub fn cluster(&self) -> Cluster<'a> {
        Cluster { door: self.door }
    }
}

impl<'a> Nodes<'a> {
    /// The cluster that the nodes are part of.
    pub fn cluster(&self) -> Cluster<'a> {
        Cluster { door: self.door }
    }
}

impl<'a> Candidate<'a> {
    /// The cluster that the candidate is part of, its victims included.
    pub fn cluster(&self) -> Cluster<'a> {
        Cluster { door: self.door }
    }
}
