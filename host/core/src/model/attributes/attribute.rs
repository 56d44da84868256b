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
    read::{ReadOf, ReadScope},
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
pub struct Attribute {
    pub(crate) of: AttributeOf<Box<str>>,
    /// Of an image's size: the image, so that its name is hashed once for all nodes.
    pub(crate) image: Option<ImageName>,
}

/// The subject of an attribute; texts are owned or borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AttributeOf<T> {
    /// A read, of node 0 if it is of a node. That of a placed pod stands for the same read of each pod on the node: there
    /// may be any number of pods, and a policy that reads one usually reads all.
    Read(ReadOf<T>),
    /// All of the node at once, by its stamp.
    NodeRecord,
    /// All of the node's pods at once, by their stamp.
    PlacedRecord,
    /// All facts about the node at once.
    FactsRecord,
}

// === impl AttributeOf ===

impl<'a> AttributeOf<&'a str> {
    pub(crate) fn of(read: Read<'a>) -> Self {
        Self::Read(match read {
            Read::Placed(_, _, read) => Read::Placed(0, 0, read),
            other => other.of_node(0),
        })
    }
}

impl<T> AttributeOf<T> {
    /// The same with other texts.
    fn map<'s, U>(&'s self, text: &mut impl FnMut(&'s T) -> U) -> AttributeOf<U> {
        match self {
            Self::Read(read) => AttributeOf::Read(read.map(text)),
            Self::NodeRecord => AttributeOf::NodeRecord,
            Self::PlacedRecord => AttributeOf::PlacedRecord,
            Self::FactsRecord => AttributeOf::FactsRecord,
        }
    }
}

impl<T: AsRef<str>> AttributeOf<T> {
    /// The same with borrowed texts.
    fn borrowed(&self) -> AttributeOf<&str> {
        self.map(&mut |text: &T| text.as_ref())
    }

    fn text_size(&self) -> usize {
        let mut bytes = 0;
        let _ = self.map(&mut |text: &T| bytes += text.as_ref().len());
        bytes
    }
}

impl Equivalent<Attribute> for AttributeOf<&str> {
    fn equivalent(&self, attribute: &Attribute) -> bool {
        *self == attribute.of.borrowed()
    }
}

impl BorrowedAttribute<Attribute> for AttributeOf<&str> {
    fn to_attribute(&self) -> Attribute {
        let image = if let Self::Read(Read::Node(_, NodeRead::ImageSize(image))) = self {
            Some(ImageName::of(image))
        } else {
            None
        };
        Attribute { of: self.map(&mut |text| Box::from(*text)), image }
    }

    fn heap_size(&self) -> usize {
        self.text_size()
    }
}

// === impl Attribute ===

impl Attribute {
    /// Whether its value is a yes or a no.
    pub(crate) fn is_flag(&self) -> bool {
        matches!(&self.of, AttributeOf::Read(read) if read.is_flag())
    }

    /// The attribute of a node that is read; none for a read of something else.
    pub(crate) fn of_node(read: Read<'_>) -> Option<Self> {
        matches!(read.scope(), ReadScope::Node(_)).then(|| AttributeOf::of(read).to_attribute())
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
            AttributeOf::Read(Read::Placed(..))
            | AttributeOf::NodeRecord
            | AttributeOf::PlacedRecord
            | AttributeOf::FactsRecord => None,
            AttributeOf::Read(read) => Some(read.of_node(node)),
        }
    }
}

/// As an [`AttributeOf`] with borrowed texts: the image follows from the rest.
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
            AttributeOf::Read(read) if read.scope() == ReadScope::Request => Scope::Subject,
            AttributeOf::Read(read) if read.is_of_cluster() => Scope::Snapshot,
            _ => Scope::Row,
        }
    }

    fn depends_on(&self) -> Parts {
        match &self.of {
            AttributeOf::Read(read) if read.is_of_pods() => PODS,
            AttributeOf::PlacedRecord => PODS,
            // Facts about a node are found by its name and addresses.
            AttributeOf::Read(ReadOf::FactsNodeText { .. } | ReadOf::FactsNodeNumber { .. })
            | AttributeOf::FactsRecord => NODE.union(FACTS),
            _ => NODE,
        }
    }

    fn whole_row() -> Vec<Self> {
        let records = [AttributeOf::NodeRecord, AttributeOf::PlacedRecord, AttributeOf::FactsRecord];
        records.map(|of| Self { of, image: None }).into()
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            AttributeOf::Read(ReadOf::Placed(_, _, read)) => read.write(f, format_args!("placed[each]")),
            AttributeOf::Read(read) => read.fmt(f),
            AttributeOf::NodeRecord => f.write_str("all of the node"),
            AttributeOf::PlacedRecord => f.write_str("all pods of the node"),
            AttributeOf::FactsRecord => f.write_str("all facts about the node"),
        }
    }
}
