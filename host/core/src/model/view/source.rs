//! The source that the decision cache reads: the pod of a view, and every node of its cluster.

use std::hash::Hash;

use plimsoll_decision_cache::{Fingerprint, Row, Source};

use super::View;
use crate::model::{
    Attribute, Columns, Grouping, ImageName, Read, Shown, Value, attributes::AttributeOf, read::ReadOf, stamp::stamp,
};

/// A view of all nodes of the cluster: its rows are the slots.
#[derive(Debug, Clone)]
pub(crate) struct ViewSource(View);

impl ViewSource {
    /// The pod and the time of a view, and all of its cluster.
    pub(crate) fn of(view: &View) -> Self {
        Self(view.of_all_slots())
    }
}

impl Source for ViewSource {
    type Attribute = Attribute;
    type Value = Shown;

    fn row_count(&self) -> usize {
        self.0.node_count()
    }

    fn columns(&self) -> &Columns {
        self.0.columns()
    }

    fn shared_fingerprint(&self, attribute: &Attribute) -> Fingerprint {
        // Attributes of the pod, the time and the cluster take no node.
        attribute.fingerprint(&self.0, 0)
    }

    fn row_fingerprint(&self, attribute: &Attribute, row: Row) -> Fingerprint {
        attribute.fingerprint(&self.0, row)
    }

    fn fingerprint_of_all_rows(&self, attribute: &Attribute) -> Option<Fingerprint> {
        attribute.image.is_some_and(ImageName::is_nowhere).then_some(Fingerprint::ABSENT)
    }

    fn value(&self, attribute: &Attribute, row: Row) -> Shown {
        attribute.shown(&self.0, row)
    }
}

// === impl Attribute ===

impl Attribute {
    /// The fingerprint of a view's answer. The node is one of the view; it does not matter for the pod and the time.
    pub(crate) fn fingerprint(&self, view: &View, node: u32) -> Fingerprint {
        let of_stamp = |stamp: u64| Fingerprint::of_number(stamp as i64);
        if let Some(image) = self.image {
            return view.image_size(node, image).as_ref().map_or(Fingerprint::ABSENT, fingerprint);
        }
        match &self.of {
            AttributeOf::NodeRecord => view.node_fingerprint(node),
            AttributeOf::PlacedRecord => view.placed_stamp(node).map_or(Fingerprint::ABSENT, of_stamp),
            AttributeOf::FactsRecord => view.facts_fingerprint(node),
            AttributeOf::Read(ReadOf::Placed(_, _, read)) => fingerprint_of_all(view.each_placed(node, read)),
            // Unknown total: a fresh fingerprint, so that the lookup misses; only a call may take the time to add it
            // up.
            AttributeOf::Read(read) if read.is_of_cluster() && self.needs_walk(view) => {
                Fingerprint::of(&("not known", stamp()))
            }
            AttributeOf::Read(_) => self.read(node).map_or(Fingerprint::ABSENT, |read| match view.answer(read) {
                Ok(value) => fingerprint(&value),
                // A node of the view has an answer to every read of it; the cluster may have none.
                Err(_) => Fingerprint::of("no answer"),
            }),
        }
    }

    /// Whether its value has to be added up from all pods or nodes of the cluster first.
    fn needs_walk(&self, view: &View) -> bool {
        self.read(0).is_some_and(|read| view.needs_walk(&read))
    }

    /// The answer of a view, for people and programs.
    fn shown(&self, view: &View, node: u32) -> Shown {
        let shown = |value: Value<'_>| match value {
            Value::Number(number) => Shown::of_number(number, self.is_flag()),
            value => Shown::of(&value, Shown::SHORT),
        };
        if let AttributeOf::Read(ReadOf::Placed(_, _, read)) = &self.of {
            return Shown::List(view.each_placed(node, read).map(shown).collect());
        }
        self.read(node).and_then(|read| view.answer(read).ok().map(shown)).unwrap_or(Shown::Absent)
    }
}

/// The fingerprint of a value.
fn fingerprint(value: &Value<'_>) -> Fingerprint {
    match value {
        Value::Absent => Fingerprint::ABSENT,
        Value::Number(number) => Fingerprint::of_number(*number),
        Value::Real(real) => Fingerprint::of(real),
        Value::Text(text) => Fingerprint::of(text.as_ref()),
        Value::Texts(texts) => Fingerprint::of(texts),
        Value::Indices(indices) => Fingerprint::of(indices),
        Value::Counts(counts) => Fingerprint::of(counts),
        Value::Grouping(Grouping { values, groups }) => Fingerprint::of(&(values, groups)),
        Value::LabelValues(values) => values.fingerprint(),
        Value::Owner(owner) => Fingerprint::of(owner),
        Value::Taints(taints) => Fingerprint::hashed(|state| {
            for taint in *taints {
                (&taint.key, &taint.value, &taint.effect).hash(state);
            }
        }),
    }
}

/// The fingerprint of several values in their order.
fn fingerprint_of_all<'v>(values: impl Iterator<Item = Value<'v>>) -> Fingerprint {
    Fingerprint::hashed(|state| values.for_each(|value| fingerprint(&value).hash(state)))
}

/// The fingerprint of a read for each node of the view, answered by its column; none for a read that is not of a node.
pub(crate) fn fingerprints_of_nodes(view: &View, read: Read<'_>) -> Option<Vec<Fingerprint>> {
    let attribute = Attribute::of_node(read)?;
    Some(plimsoll_decision_cache::fingerprints(&ViewSource::of(view), &attribute, view.slots()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_decision_cache::{BorrowedAttribute as _, Witness};

    use super::*;
    use crate::{
        cache::{AnswerCache, Evaluation},
        model::{Cluster, Node, NodeRead, Pod, PodRead, Recording, Taint},
    };

    #[test]
    fn an_answer_can_be_recorded_with_the_values_that_it_follows_from() {
        let node = |zone: &str| {
            let json = format!(r#"{{"metadata":{{"name":"n-{zone}","labels":{{"zone":"{zone}"}}}}}}"#);
            Node::from_json(json.into()).unwrap()
        };
        let cluster = Arc::new(Cluster::from_objects(vec![node("a"), node("b")], vec![]));
        let pod = Pod::from_json(r#"{"metadata":{"name":"p","labels":{"team":"red"}}}"#.into()).unwrap();
        let view = View::new(Arc::new(pod), cluster, Arc::from([0, 1]), 0);
        let cache = AnswerCache::<u32>::default();
        let (lookup, rows) = (cache.lookup(&ViewSource::of(&view)), Arc::clone(view.slots()));
        let mut evaluation = Evaluation::new(lookup, ViewSource::of(&view), rows, vec![0, 1], false);
        let recorded = view.clone().recorded(Recording::of(evaluation.log()));
        while let Some(node) = evaluation.next_miss() {
            let team = recorded.read(Read::Pod(PodRead::Label("team"))).unwrap();
            let zone = recorded.read(Read::Node(node, NodeRead::Label("zone"))).unwrap();
            evaluation.record_answer(u32::from(team == zone));
        }
        let source = ViewSource::of(&view);
        let witnesses = evaluation.finish().answers.witnesses(&source, view.slots());
        let shown = |witness: &Witness<Attribute, u32>| {
            let value = |of: &Attribute| format!("{of} = {}", source.value(of, witness.row));
            witness.path.iter().map(|(of, _)| value(of)).collect::<Vec<_>>().join(", ")
        };
        let shown: Vec<String> = witnesses.iter().map(shown).collect();
        let expected = ["a", "b"].map(|zone| format!(r#"pod.label("team") = "red", node.label("zone") = "{zone}""#));
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_comparison_of_cached_answers_walks_over_no_pods() {
        let view = View::new(Arc::default(), Arc::default(), Arc::default(), 0);
        let reads = [Read::ClusterCount(crate::model::Selector::all()), Read::ClusterLabelValues("zone")];
        for read in reads {
            let fingerprint = || AttributeOf::of(read).to_attribute().fingerprint(&view, 0);
            assert_ne!(fingerprint(), fingerprint(), "a total that nobody knows is equal to none");
            view.read(read).unwrap();
            assert_eq!(fingerprint(), fingerprint());
        }
    }

    #[test]
    fn absence_is_neither_an_empty_text_nor_a_number() {
        let numbers = [0, 1, -1, i64::MIN, i64::MAX].map(Value::Number);
        let others = [Value::Absent, Value::text(""), Value::text("0"), Value::Texts(&[])];
        let values: Vec<_> = numbers.into_iter().chain(others).collect();
        for (at, one) in values.iter().enumerate() {
            for (other_at, other) in values.iter().enumerate() {
                assert_eq!(fingerprint(one) == fingerprint(other), at == other_at, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn where_one_text_ends_and_the_next_begins_is_part_of_the_fingerprint() {
        let taint =
            |key: &str, value: &str| Taint { key: key.into(), value: value.into(), effect: "NoSchedule".into() };
        let (one, other) = ([taint("ab", "c")], [taint("a", "bc")]);
        assert_ne!(fingerprint(&Value::Taints(&one)), fingerprint(&Value::Taints(&other)));
        let texts = |texts: &[&str]| texts.iter().map(|text| Box::from(*text)).collect::<Vec<Box<str>>>();
        let (one, other) = (texts(&["ab", "c"]), texts(&["a", "bc"]));
        assert_ne!(fingerprint(&Value::Texts(&one)), fingerprint(&Value::Texts(&other)));
    }
}
