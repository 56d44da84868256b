//! The nodes of a request, as ranges of its body.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use plimsoll_core::{Cluster, KnownNodes, Names, NodeObject, Nodes};

use super::args::JsonString;

/// A filter or prioritize request.
#[derive(Debug)]
pub(crate) struct ExtenderArgs {
    /// The Pod's JSON.
    pub(crate) pod: Bytes,
    /// The nodes to decide about.
    pub(crate) nodes: WireNodes,
}

/// The elements of a list.
#[derive(Debug, Default)]
pub(super) struct Elements {
    /// The bytes of each in the text.
    pub(super) ranges: Vec<Range<usize>>,
    /// The slot of each name or known node, or [`Nodes::UNKNOWN`].
    pub(super) slots: Arc<[u32]>,
}

/// The nodes of a request, in the mode in which it came.
#[derive(Debug)]
pub(crate) struct WireNodes {
    /// The request's body, or a list that we have made if the body writes names in an unusual form.
    text: Bytes,
    elements: Elements,
    /// With `nodeCacheCapable: false` each Node; `None` if the request has names.
    objects: Option<Vec<NodeObject>>,
}

// === impl WireNodes ===

impl WireNodes {
    /// Names as ranges of the body.
    pub(super) fn by_name(body: &Bytes, elements: Elements) -> Self {
        Self { text: body.clone(), elements, objects: None }
    }

    /// Names that are re-encoded.
    pub(crate) fn written(names: &[JsonString<'_>], known: &Names) -> Self {
        let mut text = Vec::with_capacity(names.iter().map(|JsonString(name)| name.len() + 3).sum());
        let (mut ranges, mut slots) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
        for JsonString(name) in names {
            let start = text.len();
            // It is infallible to write a text into memory.
            let _ = serde_json::to_writer(&mut text, name);
            ranges.push(start..text.len());
            slots.push(known.find(name).unwrap_or(Nodes::UNKNOWN));
            text.push(b',');
        }
        Self { text: text.into(), elements: Elements { ranges, slots: slots.into() }, objects: None }
    }

    /// Whole nodes; those with a slot are known already.
    pub(super) fn by_prediction(body: &Bytes, elements: Elements, known: &KnownNodes) -> Self {
        let object = |(slot, range): (&u32, &Range<usize>)| match known.node(*slot) {
            Some(node) => NodeObject::Known(Arc::clone(node)),
            None => NodeObject::Json(body.slice(range.clone())),
        };
        let objects = elements.slots.iter().zip(&elements.ranges).map(object).collect();
        Self { text: body.clone(), elements, objects: Some(objects) }
    }

    /// Whole nodes, which are slices of the body.
    pub(crate) fn objects(body: &Bytes, objects: Vec<Bytes>) -> Self {
        let range = |object: &Bytes| {
            let start = object.as_ptr() as usize - body.as_ptr() as usize;
            start..start + object.len()
        };
        let elements = Elements { ranges: objects.iter().map(range).collect(), slots: Arc::default() };
        let objects = objects.into_iter().map(NodeObject::Json).collect();
        Self { text: body.clone(), elements, objects: Some(objects) }
    }

    /// The nodes as core's type; `cluster` is the snapshot in which the names were looked up.
    pub(crate) fn as_query<'q>(&'q self, cluster: Option<&'q Arc<Cluster>>) -> Nodes<'q> {
        match &self.objects {
            Some(objects) => Nodes::Objects(objects),
            None => Nodes::Slots { cluster, slots: &self.elements.slots },
        }
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.elements.ranges.len()
    }

    /// Whether they are whole objects, not names.
    pub(crate) fn are_objects(&self) -> bool {
        self.objects.is_some()
    }

    /// The JSON of each whole node that is new or changed.
    pub(crate) fn unknown_objects(&self) -> impl Iterator<Item = &Bytes> {
        self.objects.iter().flatten().filter_map(|object| match object {
            NodeObject::Json(json) => Some(json),
            NodeObject::Known(_) => None,
        })
    }

    /// The text that the ranges refer to.
    pub(crate) fn text(&self) -> &Bytes {
        &self.text
    }

    /// The range of consecutive nodes, with the commas between them.
    pub(crate) fn stretch(&self, run: Range<usize>) -> Range<usize> {
        match &self.elements.ranges[run] {
            [first, .., last] => first.start..last.end,
            [only] => only.clone(),
            [] => 0..0,
        }
    }

    /// A node as JSON: its name, or the whole object.
    pub(crate) fn json(&self, at: usize) -> &[u8] {
        &self.text[self.elements.ranges[at].clone()]
    }

    /// The name of a whole node that is known.
    pub(crate) fn known_name(&self, at: usize) -> Option<&str> {
        match self.objects.as_ref()?.get(at)? {
            NodeObject::Known(node) => Some(node.name()),
            NodeObject::Json(_) => None,
        }
    }
}
