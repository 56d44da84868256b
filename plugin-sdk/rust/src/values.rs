//! The values that reads take and return, beside texts and numbers.

/// The owner that controls a pod, and replaces it when it is gone: a `ReplicaSet`, a `Job`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Group and version, such as `apps/v1`: two groups may have one kind.
    pub api_version: &'a str,
    /// The kind, such as `ReplicaSet`.
    pub kind: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The UID of the object: another one of the same name has another.
    pub uid: &'a str,
}

/// A taint of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taint<'a> {
    /// The taint's key.
    pub key: &'a str,
    /// Its value; empty if it has none.
    pub value: &'a str,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: &'a str,
}

/// Which pods a read of the [`Cluster`](crate::Cluster) is about: those for which all given parts hold.
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

/// Nodes by the value of a label: one group for each value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups<'a> {
    values: Vec<&'a str>,
    of_node: Vec<u32>,
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

// === impl Groups ===

impl<'a> Groups<'a> {
    pub(crate) fn new(values: Vec<&'a str>, of_node: Vec<u32>) -> Self {
        Self { values, of_node }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no node has the label.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of each group.
    pub fn values(&self) -> &[&'a str] {
        &self.values
    }

    /// The group of each node, in the order of the nodes; none for a node without the label.
    pub fn of_nodes(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        let count = self.len();
        self.of_node.iter().map(move |group| Some(*group as usize).filter(|group| *group < count))
    }
}
