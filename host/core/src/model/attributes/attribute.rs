//! A value that policies read, without the node that it is read of.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use hashbrown::Equivalent;
use plimsoll_decision_cache::{
    Attribute as CacheAttribute, BorrowedAttribute, Columns as CacheColumns, HeapSize, Parts, Scope,
};

use crate::model::{
    ImageName, NodeRead, Read,
    read::{ReadAttribute, ReadScope},
};

/// The part of a row that is the node's own object.
pub(crate) const NODE: Parts = Parts::single(0);
/// The part of a row that is the pods on the node.
pub(crate) const PODS: Parts = Parts::single(1);

/// The part of a row that is the facts about the node.
pub(crate) const FACTS: Parts = Parts::single(2);

/// The attributes that policies have read of the nodes of one cluster, one column each.
pub(crate) type Columns = CacheColumns<Attribute>;

/// One thing that policies read, of the pod and the time or of any node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) of: AttributeOf<Box<str>>,
    /// Of an image's size: the image, so that its name is hashed once for all nodes.
    pub(crate) image: Option<ImageName>,
}

/// An attribute that is not owned yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AttributeRef<'a>(AttributeOf<&'a str>);

/// The subject of an attribute; texts are owned or borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AttributeOf<T> {
    Read(ReadAttribute<T>),
    /// All of the node at once, by its stamp.
    NodeRecord,
    /// All of the node's pods at once, by their stamp.
    PlacedRecord,
    /// All facts about the node at once.
    FactsRecord,
}

// === impl AttributeRef ===

impl<'a> AttributeRef<'a> {
    pub(crate) const fn of(read: ReadAttribute<&'a str>) -> Self {
        Self(AttributeOf::Read(read))
    }
}

impl Equivalent<Attribute> for AttributeRef<'_> {
    fn equivalent(&self, attribute: &Attribute) -> bool {
        self.0 == attribute.of.borrowed()
    }
}

impl BorrowedAttribute<Attribute> for AttributeRef<'_> {
    fn to_attribute(&self) -> Attribute {
        match self.0 {
            AttributeOf::Read(read) => Attribute::of(read),
            AttributeOf::NodeRecord => Attribute::of_record(AttributeOf::NodeRecord),
            AttributeOf::PlacedRecord => Attribute::of_record(AttributeOf::PlacedRecord),
            AttributeOf::FactsRecord => Attribute::of_record(AttributeOf::FactsRecord),
        }
    }

    fn heap_size(&self) -> usize {
        self.0.text_size()
    }
}

// === impl AttributeOf ===

impl<T: AsRef<str>> AttributeOf<T> {
    /// The same with borrowed texts.
    fn borrowed(&self) -> AttributeOf<&str> {
        match self {
            Self::Read(read) => AttributeOf::Read(read.map(&mut |text: &T| text.as_ref())),
            Self::NodeRecord => AttributeOf::NodeRecord,
            Self::PlacedRecord => AttributeOf::PlacedRecord,
            Self::FactsRecord => AttributeOf::FactsRecord,
        }
    }

    fn text_size(&self) -> usize {
        let mut bytes = 0;
        if let Self::Read(read) = self {
            let _ = read.map(&mut |text: &T| bytes += text.as_ref().len());
        }
        bytes
    }
}

// === impl Attribute ===

impl Attribute {
    /// The attribute of a read.
    fn of(read: ReadAttribute<&str>) -> Self {
        let image =
            if let ReadAttribute::Node(NodeRead::ImageSize(image)) = read { Some(ImageName::of(image)) } else { None };
        Self { of: AttributeOf::Read(read.map(&mut |text| Box::from(*text))), image }
    }

    const fn of_record(of: AttributeOf<Box<str>>) -> Self {
        Self { of, image: None }
    }

    /// Whether its value is a yes or a no.
    pub(crate) fn is_flag(&self) -> bool {
        matches!(&self.of, AttributeOf::Read(read) if read.is_flag())
    }

    /// The attribute of a node that is read; none for a read of something else.
    pub(crate) fn of_node(read: Read<'_>) -> Option<Self> {
        if let ReadScope::Node(_, attribute) = read.scope() { Some(Self::of(attribute)) } else { None }
    }

    /// Whether its value may change when a pod is bound.
    pub(crate) fn counts_pods(&self) -> bool {
        match &self.of {
            AttributeOf::Read(read) => read.counts_pods(),
            AttributeOf::NodeRecord | AttributeOf::FactsRecord => false,
            AttributeOf::PlacedRecord => true,
        }
    }

    /// Whether it stands for a whole record.
    pub(crate) const fn is_record(&self) -> bool {
        !matches!(self.of, AttributeOf::Read(_))
    }

    /// The read, of a node of a view; none for a whole record, and for reads of each pod.
    pub(crate) fn read(&self, node: u32) -> Option<Read<'_>> {
        match self.of.borrowed() {
            AttributeOf::Read(read) => read.read(node),
            AttributeOf::NodeRecord | AttributeOf::PlacedRecord | AttributeOf::FactsRecord => None,
        }
    }
}

/// As an [`AttributeRef`]: the image follows from the rest.
impl Hash for Attribute {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

impl HeapSize for Attribute {
    fn heap_size(&self) -> usize {
        self.of.text_size()
    }
}

impl CacheAttribute for Attribute {
    fn scope(&self) -> Scope {
        match &self.of {
            AttributeOf::Read(read) if read.is_of_request() => Scope::Subject,
            AttributeOf::Read(read) if read.is_of_cluster() => Scope::Snapshot,
            _ => Scope::Row,
        }
    }

    fn depends_on(&self) -> Parts {
        match &self.of {
            AttributeOf::Read(read) if read.is_of_pods() => PODS,
            // They are found by the node's name and addresses.
            AttributeOf::Read(read) if read.is_of_facts() => NODE.union(FACTS),
            AttributeOf::PlacedRecord => PODS,
            AttributeOf::FactsRecord => NODE.union(FACTS),
            _ => NODE,
        }
    }

    fn whole_row() -> Vec<Self> {
        [AttributeOf::NodeRecord, AttributeOf::PlacedRecord, AttributeOf::FactsRecord].map(Self::of_record).into()
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            AttributeOf::Read(read) => read.fmt(f),
            AttributeOf::NodeRecord => f.write_str("all of the node"),
            AttributeOf::PlacedRecord => f.write_str("all pods of the node"),
            AttributeOf::FactsRecord => f.write_str("all facts about the node"),
        }
    }
}
