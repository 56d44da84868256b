/// Nodes by the value of a label: one group for each value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups<'a> {
    values: Vec<&'a str>,
    of_node: Vec<u32>,
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
