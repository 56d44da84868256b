//! Which tables a pod or a node may count in.

use std::sync::Arc;

use hashbrown::HashMap;

use super::Shape;
use crate::Pod;

/// The shapes of the tables of a snapshot, numbered. Snapshots share it as long as no table comes or goes.
#[derive(Debug, Default)]
pub(super) struct ShapeIndex {
    shapes: Vec<Arc<Shape<Box<str>>>>,
    numbers: HashMap<Arc<Shape<Box<str>>>, usize, foldhash::fast::RandomState>,
    /// The shapes of pods that name a label, by its key: most pods have few of all keys.
    by_label: HashMap<Box<str>, Vec<usize>, foldhash::fast::RandomState>,
    /// The other shapes of pods.
    of_any_pod: Vec<usize>,
    of_nodes: Vec<usize>,
}

// === impl ShapeIndex ===

impl ShapeIndex {
    pub(super) fn new(shapes: Vec<Arc<Shape<Box<str>>>>) -> Self {
        let mut index = Self::default();
        for (number, shape) in shapes.iter().enumerate() {
            index.numbers.insert(Arc::clone(shape), number);
            match shape.label() {
                _ if shape.is_of_nodes() => index.of_nodes.push(number),
                Some(key) => index.by_label.entry(key.into()).or_default().push(number),
                None => index.of_any_pod.push(number),
            }
        }
        Self { shapes, ..index }
    }

    pub(super) fn shapes(&self) -> &[Arc<Shape<Box<str>>>] {
        &self.shapes
    }

    pub(super) fn number(&self, shape: &Shape<&str>) -> Option<usize> {
        self.numbers.get(shape).copied()
    }

    /// The shapes by which nodes are counted.
    pub(super) fn of_nodes(&self) -> impl Iterator<Item = (usize, &Shape<Box<str>>)> {
        self.of_nodes.iter().map(|number| (*number, &*self.shapes[*number]))
    }

    /// The shapes by which a pod may be counted, each with the pod's value of the label that it names.
    pub(super) fn of_pod<'i>(
        &'i self,
        pod: &'i Pod,
    ) -> impl Iterator<Item = (usize, &'i Shape<Box<str>>, Option<&'i str>)> {
        let by_label = pod.labels().iter().filter_map(|(key, value)| Some((self.by_label.get(key)?, Some(value))));
        let all = by_label.chain([(&self.of_any_pod, None)]);
        all.flat_map(move |(numbers, label)| numbers.iter().map(move |number| (*number, &*self.shapes[*number], label)))
    }
}
