//! The reads that a policy may make.

use std::{collections::BTreeSet, sync::Arc};

use super::{Read, generated::COUNTING};

/// The functions of the contract that a policy may call, as a module imports them (`nodes.label`); clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet(Arc<BTreeSet<Box<str>>>);

impl ReadSet {
    /// Whether one of them may change when a pod is bound: the pods on nodes, their requests, counts of the cluster.
    pub fn counts_pods(&self) -> bool {
        COUNTING.iter().any(|function| self.0.contains(*function))
    }

    /// Whether one of them is of placed pods or of the whole cluster, which not every gateway knows.
    pub fn looks_beyond_node(&self) -> bool {
        let looks = |function: &str| function.starts_with("placed.") || function.starts_with("cluster.");
        self.iter().any(|function| looks(function) || function == "nodes.requested")
    }

    /// Whether the time is one of them.
    pub fn reads_time(&self) -> bool {
        self.0.contains("host.now")
    }

    /// Whether this read is one of them.
    pub(crate) fn has(&self, read: &Read<'_>) -> bool {
        self.0.contains(read.function())
    }

    /// The names of the functions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for ReadSet {
    fn from_iter<I: IntoIterator<Item = S>>(functions: I) -> Self {
        Self(Arc::new(functions.into_iter().map(Into::into).collect()))
    }
}
