//! The edges and nodes of the tree of subjects.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::{
    attribute::HeapSize, clock::tick, fingerprint::Fingerprint, source::Source, subject_class::SubjectClass,
    trie::Answer,
};

/// The number of a node, and the value of its attribute.
pub(crate) type EdgeKey = (u64, Fingerprint);

pub(crate) type SubjectClassOf<S, A> = SubjectClass<<S as Source>::Attribute, A>;

/// Where a value leads.
pub(crate) struct Edge<S: Source, A> {
    /// `None` for the edge to the root.
    pub(crate) value: Option<S::Value>,
    pub(crate) next: Next<S, A>,
    used: AtomicU64,
}

/// A node, or the class at the end of a path.
pub(crate) enum Next<S: Source, A> {
    Node(Arc<Node<S::Attribute>>),
    Class(Arc<SubjectClassOf<S, A>>),
}

/// One attribute of the subject that is read.
pub(crate) struct Node<T> {
    pub(crate) number: u64,
    pub(crate) attribute: T,
}

// === impl Edge ===

impl<S: Source, A: Answer> Edge<S, A> {
    pub(crate) fn new(value: Option<S::Value>, next: Next<S, A>) -> Self {
        Self { value, next, used: AtomicU64::new(tick()) }
    }

    /// Marks it as used, and returns where it leads.
    #[inline]
    pub(crate) fn touch(&self, now: u64) -> &Next<S, A> {
        self.used.store(now, Ordering::Relaxed);
        &self.next
    }

    pub(crate) fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, HeapSize::heap_size);
        size_of::<(EdgeKey, Self)>() + value + self.next.bytes()
    }

    /// Bytes that dropping it frees.
    pub(crate) fn weight(&self) -> usize {
        let more = if let Next::Class(class) = &self.next { class.weight() - class.bytes() } else { 0 };
        self.bytes() + more
    }

    /// When it was last used.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

// === impl Next ===

impl<S: Source, A: Answer> Next<S, A> {
    fn bytes(&self) -> usize {
        match self {
            Self::Node(node) => size_of::<Node<S::Attribute>>() + node.attribute.heap_size(),
            Self::Class(class) => class.bytes(),
        }
    }
}
