//! What is read, without the node that it is read of.

use std::{borrow::Cow, fmt};

use plimsoll_decision_cache::{
    Attribute as CacheAttribute, BorrowedAttribute, Columns as CacheColumns, HeapSize, Parts, Scope,
};

use crate::{ImageName, NodeRead, PlacedRead, PodRead, Read, read};

/// The part of a row that is the node's own object.
pub(crate) const NODE: Parts = Parts::single(0);
/// The part of a row that is the pods on the node.
pub(crate) const PODS: Parts = Parts::single(1);

/// The attributes that policies have read of the nodes of one cluster, one column each.
pub(crate) type Columns = CacheColumns<Attribute>;

/// One thing that policies read, of the pod and the time or of any node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Attribute {
    pub(super) kind: Kind,
    text: Box<str>,
}

/// An attribute that is not owned yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AttributeRef<'a> {
    kind: Kind,
    text: Cow<'a, str>,
}

/// What a read is of, as far as the cache goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadScope<'a> {
    /// The same for every call of one version: its settings.
    Constant,
    /// The same for all nodes of a request.
    Request(AttributeRef<'a>),
    /// Of this node alone.
    Node(u32, AttributeRef<'a>),
    /// Of the request as a whole; an answer that depends on it is not cached.
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    PodName,
    PodNamespace,
    PodUid,
    PodLabel,
    PodAnnotation,
    PodPriority,
    PodRequest,
    PodImages,
    PodField,
    Now(u32),
    NodeName,
    NodeLabel,
    NodeAnnotation,
    NodeTaints,
    NodeAllocatable,
    NodeRequested,
    NodeImageSize(ImageName),
    NodeField,
    PlacedCount,
    /// Namespace, key and value in one text, and where the first two end.
    PlacedLabelled(u32, u32),
    /// One thing of every pod of the node, in their order.
    EachPlaced(Of),
    /// All of the node at once, by its stamp.
    NodeRecord,
    /// All of the node's pods at once, by their stamp.
    PlacedRecord,
}

/// What is read of a placed pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Of {
    Name,
    Namespace,
    Label,
    Annotation,
    Priority,
    Request,
    Created,
}

// === impl ReadScope ===

impl<'a> ReadScope<'a> {
    pub(super) fn of(read: &Read<'a>) -> Self {
        match *read {
            Read::Settings => Self::Constant,
            Read::Pod(read) => Self::Request(pod(read)),
            Read::Now(granularity) => Self::Request(AttributeRef::new(Kind::Now(granularity.max(1)), "")),
            Read::Node(node, read) => Self::Node(node, of_node(read)),
            Read::PlacedCount(node) => Self::Node(node, AttributeRef::new(Kind::PlacedCount, "")),
            Read::PlacedLabelled { node, namespace, key, value } => {
                let kind = Kind::PlacedLabelled(namespace.len() as u32, (namespace.len() + key.len()) as u32);
                Self::Node(node, AttributeRef { kind, text: [namespace, key, value].concat().into() })
            }
            // There are as many of these as pods, and a loop over them is what makes them: the same of all pods is
            // one read. Two nodes whose pods are alike in this are alike.
            Read::Placed(node, _, read) => Self::Node(node, of_each_placed(read)),
            Read::NodeCount
            | Read::NodesByLabel(_)
            | Read::NodesLabelled { .. }
            | Read::CandidateCount
            | Read::CandidateNode(_)
            | Read::CandidateVictims(_)
            | Read::CandidatePdbViolations(_) => Self::Whole,
        }
    }
}

const fn pod(read: PodRead<'_>) -> AttributeRef<'_> {
    match read {
        PodRead::Name => AttributeRef::new(Kind::PodName, ""),
        PodRead::Namespace => AttributeRef::new(Kind::PodNamespace, ""),
        PodRead::Uid => AttributeRef::new(Kind::PodUid, ""),
        PodRead::Label(key) => AttributeRef::new(Kind::PodLabel, key),
        PodRead::Annotation(key) => AttributeRef::new(Kind::PodAnnotation, key),
        PodRead::Priority => AttributeRef::new(Kind::PodPriority, ""),
        PodRead::Request(name) => AttributeRef::new(Kind::PodRequest, name),
        PodRead::Images => AttributeRef::new(Kind::PodImages, ""),
        PodRead::Field(pointer) => AttributeRef::new(Kind::PodField, pointer),
    }
}

fn of_node(read: NodeRead<'_>) -> AttributeRef<'_> {
    match read {
        NodeRead::Name => AttributeRef::new(Kind::NodeName, ""),
        NodeRead::Label(key) => AttributeRef::new(Kind::NodeLabel, key),
        NodeRead::Annotation(key) => AttributeRef::new(Kind::NodeAnnotation, key),
        NodeRead::Taints => AttributeRef::new(Kind::NodeTaints, ""),
        NodeRead::Allocatable(name) => AttributeRef::new(Kind::NodeAllocatable, name),
        NodeRead::Requested(name) => AttributeRef::new(Kind::NodeRequested, name),
        NodeRead::ImageSize(image) => AttributeRef::new(Kind::NodeImageSize(ImageName::of(image)), image),
        NodeRead::Field(pointer) => AttributeRef::new(Kind::NodeField, pointer),
    }
}

const fn of_each_placed(read: PlacedRead<'_>) -> AttributeRef<'_> {
    let (of, text) = match read {
        PlacedRead::Name => (Of::Name, ""),
        PlacedRead::Namespace => (Of::Namespace, ""),
        PlacedRead::Label(key) => (Of::Label, key),
        PlacedRead::Annotation(key) => (Of::Annotation, key),
        PlacedRead::Priority => (Of::Priority, ""),
        PlacedRead::Request(name) => (Of::Request, name),
        PlacedRead::Created => (Of::Created, ""),
    };
    AttributeRef::new(Kind::EachPlaced(of), text)
}

// === impl AttributeRef ===

impl<'a> AttributeRef<'a> {
    const fn new(kind: Kind, text: &'a str) -> Self {
        Self { kind, text: Cow::Borrowed(text) }
    }
}

impl hashbrown::Equivalent<Attribute> for AttributeRef<'_> {
    fn equivalent(&self, attribute: &Attribute) -> bool {
        self.kind == attribute.kind && *self.text == *attribute.text
    }
}

impl BorrowedAttribute<Attribute> for AttributeRef<'_> {
    fn to_attribute(&self) -> Attribute {
        Attribute { kind: self.kind, text: self.text.as_ref().into() }
    }

    fn heap_size(&self) -> usize {
        self.text.len()
    }
}

// === impl Attribute ===

impl HeapSize for Attribute {
    fn heap_size(&self) -> usize {
        self.text.len()
    }
}

impl CacheAttribute for Attribute {
    fn scope(&self) -> Scope {
        match self.kind {
            Kind::PodName
            | Kind::PodNamespace
            | Kind::PodUid
            | Kind::PodLabel
            | Kind::PodAnnotation
            | Kind::PodPriority
            | Kind::PodRequest
            | Kind::PodImages
            | Kind::PodField
            | Kind::Now(_) => Scope::Subject,
            _ => Scope::Row,
        }
    }

    fn depends_on(&self) -> Parts {
        match self.kind {
            Kind::NodeRequested
            | Kind::PlacedCount
            | Kind::PlacedLabelled(..)
            | Kind::EachPlaced(_)
            | Kind::PlacedRecord => PODS,
            _ => NODE,
        }
    }

    fn whole_row() -> Vec<Self> {
        [Kind::NodeRecord, Kind::PlacedRecord].map(|kind| Self { kind, text: "".into() }).into()
    }
}

impl Attribute {
    /// The attribute of a node that is read; none for a read of something else.
    pub(super) fn of_node(read: &Read<'_>) -> Option<Self> {
        if let ReadScope::Node(_, attribute) = ReadScope::of(read) { Some(attribute.to_attribute()) } else { None }
    }

    /// Whether it stands for a whole record.
    pub(super) const fn is_record(&self) -> bool {
        matches!(self.kind, Kind::NodeRecord | Kind::PlacedRecord)
    }

    /// What is read of each pod.
    pub(super) const fn of_placed(&self, of: Of) -> PlacedRead<'_> {
        match of {
            Of::Name => PlacedRead::Name,
            Of::Namespace => PlacedRead::Namespace,
            Of::Label => PlacedRead::Label(&self.text),
            Of::Annotation => PlacedRead::Annotation(&self.text),
            Of::Priority => PlacedRead::Priority,
            Of::Request => PlacedRead::Request(&self.text),
            Of::Created => PlacedRead::Created,
        }
    }

    /// The read, of a node of a view; none for a whole record, and for what is read of each pod.
    pub(super) fn read(&self, node: u32) -> Option<Read<'_>> {
        let text = &*self.text;
        Some(match self.kind {
            Kind::PodName => Read::Pod(PodRead::Name),
            Kind::PodNamespace => Read::Pod(PodRead::Namespace),
            Kind::PodUid => Read::Pod(PodRead::Uid),
            Kind::PodLabel => Read::Pod(PodRead::Label(text)),
            Kind::PodAnnotation => Read::Pod(PodRead::Annotation(text)),
            Kind::PodPriority => Read::Pod(PodRead::Priority),
            Kind::PodRequest => Read::Pod(PodRead::Request(text)),
            Kind::PodImages => Read::Pod(PodRead::Images),
            Kind::PodField => Read::Pod(PodRead::Field(text)),
            Kind::Now(granularity) => Read::Now(granularity),
            Kind::NodeName => Read::Node(node, NodeRead::Name),
            Kind::NodeLabel => Read::Node(node, NodeRead::Label(text)),
            Kind::NodeAnnotation => Read::Node(node, NodeRead::Annotation(text)),
            Kind::NodeTaints => Read::Node(node, NodeRead::Taints),
            Kind::NodeAllocatable => Read::Node(node, NodeRead::Allocatable(text)),
            Kind::NodeRequested => Read::Node(node, NodeRead::Requested(text)),
            Kind::NodeImageSize(_) => Read::Node(node, NodeRead::ImageSize(text)),
            Kind::NodeField => Read::Node(node, NodeRead::Field(text)),
            Kind::PlacedCount => Read::PlacedCount(node),
            Kind::PlacedLabelled(namespace, key) => {
                let (namespace, rest) = text.split_at(namespace as usize);
                let (key, value) = rest.split_at(key as usize - namespace.len());
                Read::PlacedLabelled { node, namespace, key, value }
            }
            Kind::EachPlaced(_) | Kind::NodeRecord | Kind::PlacedRecord => return None,
        })
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::NodeRecord => f.write_str("all of the node"),
            Kind::PlacedRecord => f.write_str("all pods of the node"),
            Kind::EachPlaced(of) => read::placed(f, &"each", self.of_placed(of)),
            _ => self.read(0).map_or(Ok(()), |read| fmt::Display::fmt(&read, f)),
        }
    }
}
