//! The subject classes: a tree whose inner nodes are attributes of the subject.
//!
//! A function may read `subject.annotation(subject.label("team"))`: which attribute comes next depends on the values so
//! far. So each node names one attribute, and each value leads to a node or a class. An edge is found by the number of
//! its node and its value.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::{
    attribute::{HeapSize, Row},
    fingerprint::Fingerprint,
    source::Source,
    subject_class::SubjectClass,
    trie::Answer,
    usage::tick,
};

/// Maximum edges. With more the tree begins anew.
const MAX_EDGES: usize = 8_192;

/// Stands for any row.
const NO_ROW: Row = 0;

pub(crate) type SubjectClassOf<S, A> = SubjectClass<<S as Source>::Attribute, A>;

/// The number of a node, and the value of its attribute.
type EdgeKey = (u64, Fingerprint);

pub(crate) struct SubjectTree<S: Source, A> {
    root: Option<Edge<S, A>>,
    edges: HashMap<EdgeKey, Edge<S, A>, foldhash::fast::RandomState>,
    bytes: usize,
}

/// Where a value leads.
pub(crate) struct Edge<S: Source, A> {
    /// `None` for the edge to the root.
    pub(crate) value: Option<S::Value>,
    pub(crate) next: Next<S, A>,
}

/// A node, which names the attribute that is read next, or the class at the end of a path.
pub(crate) enum Next<S: Source, A> {
    Node(u64, S::Attribute),
    Class(Arc<SubjectClassOf<S, A>>),
}

/// The edges of each node, with their values.
pub(crate) type EdgesByNode<'t, S, A> = HashMap<u64, Vec<(Fingerprint, &'t Edge<S, A>)>>;

// === impl SubjectTree ===

impl<S: Source, A: Answer> SubjectTree<S, A> {
    /// The class of a source's subject, after the attributes on the path to it, as far as that is known.
    pub(crate) fn walk(&self, source: &S, mut each: impl FnMut(&S::Attribute)) -> Option<Arc<SubjectClassOf<S, A>>> {
        let mut edge = self.root.as_ref()?;
        loop {
            match &edge.next {
                Next::Class(class) => return Some(Arc::clone(class)),
                Next::Node(number, attribute) => {
                    each(attribute);
                    edge = self.edges.get(&(*number, source.shared_fingerprint(attribute)))?;
                }
            }
        }
    }

    /// Puts a class at the end of a source's path, which `new` attributes of the subject make longer.
    ///
    /// A class that was there without them goes: its answers may depend on their values.
    pub(crate) fn put(&mut self, source: &S, new: Vec<S::Attribute>, class: SubjectClassOf<S, A>) {
        let mut next = Next::Class(Arc::new(class));
        for attribute in new.into_iter().rev() {
            let node = tick();
            self.put_edge(source, Some((node, &attribute)), next);
            next = Next::Node(node, attribute);
        }
        let mut last = None;
        let mut edge = self.root.as_ref();
        while let Some(Next::Node(number, attribute)) = edge.map(|edge| &edge.next) {
            last = Some((*number, attribute.clone()));
            edge = self.edges.get(&(*number, source.shared_fingerprint(attribute)));
        }
        self.put_edge(source, last.as_ref().map(|(number, attribute)| (*number, attribute)), next);
        if self.edges.len() > MAX_EDGES {
            *self = Self::default();
        }
    }

    /// Puts an edge from a node, or to the root.
    fn put_edge(&mut self, source: &S, from: Option<(u64, &S::Attribute)>, next: Next<S, A>) {
        // It is an attribute of the subject: the row does not matter.
        let value = from.map(|(_, attribute)| source.value(attribute, NO_ROW));
        let edge = Edge { value, next };
        self.bytes += edge.bytes();
        let before = match from {
            Some((node, attribute)) => self.edges.insert((node, source.shared_fingerprint(attribute)), edge),
            None => self.root.replace(edge),
        };
        self.bytes -= before.map_or(0, |before| before.bytes());
    }

    pub(crate) fn root(&self) -> Option<&Next<S, A>> {
        self.root.as_ref().map(|root| &root.next)
    }

    pub(crate) fn edges_by_node(&self) -> EdgesByNode<'_, S, A> {
        let mut by_node = EdgesByNode::new();
        for ((node, value), edge) in &self.edges {
            by_node.entry(*node).or_default().push((*value, edge));
        }
        by_node
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<S: Source, A> Default for SubjectTree<S, A> {
    fn default() -> Self {
        Self { root: None, edges: HashMap::default(), bytes: 0 }
    }
}

// === impl Edge ===

impl<S: Source, A: Answer> Edge<S, A> {
    fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, HeapSize::heap_size);
        let next = match &self.next {
            Next::Node(_, attribute) => attribute.heap_size(),
            Next::Class(class) => class.bytes(),
        };
        size_of::<(EdgeKey, Self)>() + value + next
    }
}
