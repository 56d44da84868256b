//! Answers reads: those of the pod, of one node and of the request from the objects that they are about.

use super::{Candidate, View, labelled};
use crate::model::{
    CandidateRead, FactValue, ImageName, Namespace, NodeRead, Phase, PlacedRead, Pod, PodRead, Read, ReadError, Value,
    object::NOT_KEPT,
};

// === impl View ===

impl View {
    /// Answers a read without recording it.
    pub(crate) fn answer(&self, read: Read<'_>) -> Result<Value<'_>, ReadError> {
        Ok(match read {
            Read::Pod(read) => self.read_pod(read),
            Read::NodesCount => Value::Number(self.slots.len() as i64),
            Read::Node(node, read) => return self.read_node(node, read),
            Read::PlacedKnown(node) => {
                let placed = self.slot(node)?.placed.as_ref();
                Value::flag(placed.is_some_and(|placed| placed.requested().is_some()))
            }
            Read::PlacedCount(node) => Value::Number(self.placed(node)?.count() as i64),
            Read::PlacedCountLabelled { node, namespace, key, value } => {
                let pods = self.placed(node)?.map(AsRef::as_ref);
                Value::Number(i64::from(labelled(pods, namespace, key, value)))
            }
            Read::PlacedCountActive { node, namespace, key, value } => {
                let pods = self.placed(node)?.map(AsRef::as_ref).filter(|pod: &&Pod| !pod.is_terminating());
                Value::Number(i64::from(labelled(pods, namespace, key, value)))
            }
            Read::NodesByLabel(key) => Value::Grouping(self.by_label(key)),
            Read::PlacedCountsLabelled { namespace, key, value } => {
                self.counts(|node| Read::PlacedCountLabelled { node, namespace, key, value })
            }
            Read::PlacedCountsActive { namespace, key, value } => {
                self.counts(|node| Read::PlacedCountActive { node, namespace, key, value })
            }
            Read::Placed(node, pod, read) => return self.read_placed_pod(node, pod, &read),
            Read::ClusterCount(selector) => optional(self.total(&selector, None)),
            Read::ClusterCountUpTo { selector, n } => {
                optional(self.total(&selector, None).map(|count| count.min(i64::try_from(n).unwrap_or(i64::MAX))))
            }
            Read::ClusterAtLeast { selector, n } => {
                optional(self.total(&selector, None).map(|count| i64::from(u64::try_from(count).unwrap_or(0) >= n)))
            }
            Read::ClusterRequested { selector, name } => optional(self.total(&selector, Some(name))),
            Read::ClusterNodesWithLabel { key, value } => optional(self.nodes_with_label(key, value)),
            Read::ClusterLabelValues(key) => return self.label_values(key),
            Read::FactsText { source, key } => text_of(self.fact(source, key)),
            Read::FactsNumber { source, key } => number_of(self.fact(source, key)),
            Read::FactsNodeText { node, source } => text_of(self.fact_of_node(node, source)?),
            Read::FactsNodeNumber { node, source } => number_of(self.fact_of_node(node, source)?),
            Read::CandidatesCount => Value::Number(self.candidates.len() as i64),
            Read::Candidate(index, read) => read_candidate(index, self.candidate(index)?, read),
            Read::HostSettings => Value::text(&self.settings),
            Read::HostNow(granularity) => {
                let granularity = u64::from(granularity.max(1));
                Value::Number((self.now - self.now % granularity) as i64)
            }
        })
    }

    fn read_placed_pod(&self, node: u32, pod: u32, read: &PlacedRead<&str>) -> Result<Value<'_>, ReadError> {
        match read_placed(self.placed_pod(node, pod)?, read) {
            Value::Text(text) if matches!(read, PlacedRead::Annotation(_)) && text == NOT_KEPT => {
                Err(ReadError::NotKept(pod))
            }
            value => Ok(value),
        }
    }

    fn read_pod(&self, read: PodRead<&str>) -> Value<'_> {
        let pod = &self.pod;
        match read {
            PodRead::Name => Value::text(pod.name()),
            PodRead::Namespace => Value::text(pod.namespace()),
            PodRead::NamespaceLabel(key) => {
                Value::optional(self.namespace().and_then(|namespace| namespace.labels().get(key)))
            }
            PodRead::NamespaceKnown => Value::flag(self.namespace().is_some()),
            PodRead::Uid => Value::text(pod.uid()),
            PodRead::Label(key) => Value::optional(pod.labels().get(key)),
            PodRead::Annotation(key) => Value::optional(pod.annotations().get(key)),
            PodRead::Priority => Value::Number(i64::from(pod.priority())),
            PodRead::PriorityClass => Value::optional(pod.priority_class()),
            PodRead::Controller => Value::owner(pod.controller()),
            PodRead::Created => Value::Number(pod.created()),
            PodRead::Request(name) => Value::Number(pod.requests().get(name)),
            PodRead::Images => Value::Texts(pod.images()),
            PodRead::Field(pointer) => Value::optional(pod.field(pointer)),
        }
    }

    /// The pod's namespace, if it is known.
    fn namespace(&self) -> Option<&Namespace> {
        self.whole.cluster()?.namespace(self.pod.namespace())
    }

    fn read_node(&self, index: u32, read: NodeRead<&str>) -> Result<Value<'_>, ReadError> {
        let node = &self.slot(index)?.node;
        Ok(match read {
            NodeRead::Name => Value::text(node.name()),
            NodeRead::Label(key) => Value::optional(node.labels().get(key)),
            NodeRead::Annotation(key) => Value::optional(node.annotations().get(key)),
            NodeRead::Taints => Value::Taints(node.taints()),
            NodeRead::Allocatable(name) => Value::Number(node.allocatable().get(name)),
            NodeRead::ResourceKnown(name) => {
                Value::flag(self.cluster.device_classes().provider(name, node.allocatable()).is_none())
            }
            NodeRead::Capacity(name) => Value::Number(node.capacity().get(name)),
            NodeRead::Condition(kind) => Value::optional(node.conditions().get(kind)),
            NodeRead::Unschedulable => Value::flag(node.unschedulable()),
            NodeRead::Requested(name) => self.requested(index, name)?.map_or(Value::Absent, Value::Number),
            NodeRead::ImageSize(image) => return self.image_size(index, ImageName::of(image)),
            NodeRead::Field(pointer) => Value::optional(node.field(pointer)),
        })
    }

    /// The answer of every pod on a node to a read, by index of the pod; none where there is no such node.
    pub(crate) fn each_placed<'v, T: AsRef<str>>(
        &'v self,
        node: u32,
        read: &PlacedRead<T>,
    ) -> impl Iterator<Item = Value<'v>> {
        self.placed(node).into_iter().flatten().map(move |pod| read_placed(pod, read))
    }

    fn requested(&self, node: u32, name: &str) -> Result<Option<i64>, ReadError> {
        let Some(placed) = &self.slot(node)?.placed else { return Ok(None) };
        let Some(requested) = placed.requested() else { return Ok(None) };
        if self.gone_from(node).is_empty() {
            return Ok(Some(requested.get(name)));
        }
        // The sum of the pods that stay: subtracting victims from a sum that saturated would be wrong.
        let stays = self.placed(node)?.map(|pod| pod.requests().get(name));
        Ok(Some(stays.fold(0, i64::saturating_add)))
    }
}

fn text_of(fact: Option<&FactValue>) -> Value<'_> {
    Value::optional(fact.map(FactValue::text))
}

fn number_of(fact: Option<&FactValue>) -> Value<'_> {
    Value::real(fact.and_then(FactValue::number))
}

fn optional(number: Option<i64>) -> Value<'static> {
    number.map_or(Value::Absent, Value::Number)
}

fn read_candidate(index: u32, candidate: &Candidate, read: CandidateRead) -> Value<'_> {
    match read {
        // Each candidate has the index of its node.
        CandidateRead::Node => Value::Number(i64::from(index)),
        CandidateRead::Victims => Value::Indices(&candidate.victims),
        CandidateRead::PdbViolations => Value::Number(i64::from(candidate.pdb_violations)),
    }
}

fn read_placed<'v, T: AsRef<str>>(pod: &'v Pod, read: &PlacedRead<T>) -> Value<'v> {
    match read {
        PlacedRead::Name => Value::text(pod.name()),
        PlacedRead::Namespace => Value::text(pod.namespace()),
        PlacedRead::Label(key) => Value::optional(pod.labels().get(key.as_ref())),
        PlacedRead::Annotation(key) => Value::optional(pod.annotations().get(key.as_ref())),
        PlacedRead::Priority => Value::Number(i64::from(pod.priority())),
        PlacedRead::PriorityClass => Value::optional(pod.priority_class()),
        PlacedRead::Controller => Value::owner(pod.controller()),
        PlacedRead::Phase => Value::optional(pod.phase().map(Phase::as_str)),
        PlacedRead::Terminating => Value::flag(pod.is_terminating()),
        PlacedRead::Request(name) => Value::Number(pod.requests().get(name.as_ref())),
        PlacedRead::Created => Value::Number(pod.created()),
    }
}
