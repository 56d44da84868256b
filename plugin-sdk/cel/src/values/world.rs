//! The pod, the node and all around them, as values that read what is touched and nothing else.

use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use cel::{
    ExecutionError,
    common::{
        traits::{Container, Indexer, Iterable, Iterator, Sizer},
        types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelOptional, CelString, LIST_TYPE, Type},
        value::{CowVal, Val},
    },
    context::VariableResolver,
};
use plimsoll_policy::{LabelCount, Node, Owner, Placed, Pod, Selector, Taint};

use super::{quantity::Quantity, time::Timestamp, value};
use crate::{json::Json, schema::LENIENT};

/// Seconds that `now` is rounded down to.
const GRANULARITY: u32 = 60;

/// The variables of one call.
#[derive(Debug)]
pub(crate) struct World<'v> {
    pub(crate) pod: Pod<'v>,
    pub(crate) node: Node<'v>,
    pub(crate) settings: &'v (dyn Val + 'v),
}

/// A value of the world.
#[derive(Debug, Clone)]
enum Object<'v> {
    Pod(Pod<'v>),
    Node(Node<'v>),
    Placed(Placed<'v>),
    Cluster(Node<'v>, Parts),
    Facts(Node<'v>),
    Texts(Texts<'v>),
    /// The pods on the node; how many there are is read as a loop begins.
    PlacedPods(Node<'v>),
}

/// A map of texts that is read key by key.
#[derive(Debug, Clone, Copy)]
enum Texts<'v> {
    PodLabels(Pod<'v>),
    PodAnnotations(Pod<'v>),
    NamespaceLabels(Pod<'v>),
    NodeLabels(Node<'v>),
    NodeAnnotations(Node<'v>),
    Conditions(Node<'v>),
    PlacedLabels(Placed<'v>),
    PlacedAnnotations(Placed<'v>),
}

/// The parts of a selector: functions with what they were called with. The last one of a name holds.
type Parts = Vec<(&'static str, [String; 2])>;

/// An object with what a loop over it runs over.
struct Lazy<'v> {
    object: Object<'v>,
    items: OnceLock<Vec<Box<dyn Val + 'v>>>,
}

/// A call of a function on an object: objects borrow, so a function cannot see what it is called on, and asks by this key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    function: &'static str,
    texts: Vec<String>,
    number: i64,
}

value!(Asked, ASKED, "function");

/// The types of objects; the last is that of maps of texts.
pub(crate) static OBJECTS: [Type; 6] = [
    Type::new_unspecified_type("Pod"),
    Type::new_unspecified_type("Node"),
    Type::new_unspecified_type("Placed"),
    Type::new_unspecified_type("Cluster"),
    Type::new_unspecified_type("Facts"),
    Type::new_unspecified_type("map"),
];

type Read<'v> = Result<Box<dyn Val + 'v>, ExecutionError>;

/// Calls a function on an object, which is the first argument.
pub(crate) fn ask<'b, 'v>(function: &'static str, args: &[CowVal<'b, 'v>]) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (object, rest) = args.split_first().ok_or_else(|| ExecutionError::invalid_argument_count(1, 0))?;
    let mut asked = Asked { function, texts: Vec::new(), number: 0 };
    for argument in rest {
        if let Some(text) = argument.downcast_ref::<CelString>() {
            asked.texts.push(text.to_string());
        } else if let Some(number) = argument.downcast_ref::<CelInt>() {
            asked.number = **number;
        }
    }
    let object = object.as_indexer().ok_or_else(|| failed(function, "it is called on another value"))?;
    object.get(&asked).map(|value| CowVal::Owned(value.into_owned()))
}

// === impl World ===

impl VariableResolver for World<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let object = match variable {
            "pod" => Object::Pod(self.pod),
            "node" => Object::Node(self.node),
            "cluster" => Object::Cluster(self.node, Parts::new()),
            "facts" => Object::Facts(self.node),
            "placed" => Object::PlacedPods(self.node),
            "settings" => return Some(CowVal::Borrowed(self.settings)),
            "now" => {
                let now = plimsoll_policy::now(GRANULARITY);
                return time(Some(now)).ok().map(CowVal::Owned);
            }
            _ => return None,
        };
        Some(CowVal::Owned(object.into_val()))
    }
}

// === impl Object ===

impl<'v> Object<'v> {
    fn into_val(self) -> Box<dyn Val + 'v> {
        Box::new(Lazy { object: self, items: OnceLock::new() })
    }

    fn ty(&self) -> &'static Type {
        &OBJECTS[match self {
            Self::PlacedPods(_) => return &LIST_TYPE,
            Self::Pod(_) => 0,
            Self::Node(_) => 1,
            Self::Placed(_) => 2,
            Self::Cluster(..) => 3,
            Self::Facts(_) => 4,
            Self::Texts(_) => 5,
        }]
    }

    /// What a loop runs over: pods, or keys in their order.
    fn items(&self) -> Vec<Box<dyn Val + 'v>> {
        match self {
            Self::PlacedPods(node) => node.placed().map(|placed| Self::Placed(placed).into_val()).collect(),
            Self::Texts(texts) => texts.keys(),
            _ => Vec::new(),
        }
    }

    fn field(&self, name: &str) -> Read<'v> {
        match self {
            Self::Pod(pod) => of_pod(*pod, name),
            Self::Node(node) => of_node(*node, name),
            Self::Placed(placed) => of_placed(*placed, name),
            Self::Texts(texts) => match name.strip_prefix(LENIENT) {
                Some(key) => Ok(text(texts.get(key).unwrap_or_default())),
                None => texts.get(name).map(text).ok_or_else(|| ExecutionError::no_such_key(name)),
            },
            Self::Cluster(..) | Self::Facts(_) | Self::PlacedPods(_) => Err(ExecutionError::no_such_key(name)),
        }
    }

    fn call(&self, asked: &Asked) -> Read<'v> {
        let Asked { function, texts, number } = asked;
        let argument = |index: usize| texts.get(index).map_or("", String::as_str);
        let name = argument(0);
        match (self, *function) {
            (Self::Pod(pod), "request") => Ok(amount(name, pod.request(name))),
            (Self::Pod(pod), "field") => json(pod.field::<Json>(name)),
            (Self::Placed(placed), "request") => Ok(amount(name, placed.request(name))),
            (Self::Node(node), "allocatable") => Ok(amount(name, node.allocatable(name))),
            (Self::Node(node), "capacity") => Ok(amount(name, node.capacity(name))),
            (Self::Node(node), "requested") => {
                let requested =
                    node.requested(name).ok_or_else(|| failed(function, "the pods on the node are not known"))?;
                Ok(amount(name, requested))
            }
            (Self::Node(node), "free") => {
                node.free(name).map(|free| amount(name, free)).map_err(|error| failed(function, error))
            }
            (Self::Node(node), "resourceKnown") => Ok(Box::new(CelBool::from(node.resource_known(name)))),
            (Self::Node(node), "imageSize") => Ok(optional(node.image_size(name).map(|size| int(size as i64)))),
            (Self::Node(node), "field") => json(node.field::<Json>(name)),
            (Self::Node(node), "factText") => Ok(optional(node.fact_text(name).map(text))),
            (Self::Node(node), "factNumber") => Ok(optional(node.fact_number(name).map(double))),
            (Self::Facts(node), "text") => Ok(optional(node.facts().text(name, argument(1)).map(text))),
            (Self::Facts(node), "number") => Ok(optional(node.facts().number(name, argument(1)).map(double))),
            (Self::PlacedPods(node), "count") => Ok(int(match texts.as_slice() {
                [namespace, key, value] => node.count_labelled(namespace, key, value),
                _ => node.placed_count(),
            })),
            (Self::Cluster(node, parts), _) => of_cluster(*node, parts, function, [name, argument(1)], *number),
            _ => Err(failed(function, "it is called on another value")),
        }
    }
}

fn of_pod<'v>(pod: Pod<'v>, name: &str) -> Read<'v> {
    Ok(match name {
        "name" => text(pod.name()),
        "namespace" => text(pod.namespace()),
        "uid" => text(pod.uid()),
        "labels" => Object::Texts(Texts::PodLabels(pod)).into_val(),
        "annotations" => Object::Texts(Texts::PodAnnotations(pod)).into_val(),
        "namespaceLabels" => Object::Texts(Texts::NamespaceLabels(pod)).into_val(),
        "namespaceKnown" => Box::new(CelBool::from(pod.namespace_known())),
        "priority" => int(pod.priority()),
        "priorityClass" => text(pod.priority_class().ok_or_else(|| ExecutionError::no_such_key(name))?),
        "controller" => owner(pod.controller(), name)?,
        "created" => time(pod.created())?,
        "images" => list(pod.images().into_iter().map(text)),
        _ => return Err(ExecutionError::no_such_key(name)),
    })
}

fn of_node<'v>(node: Node<'v>, name: &str) -> Read<'v> {
    Ok(match name {
        "name" => text(node.name()),
        "labels" => Object::Texts(Texts::NodeLabels(node)).into_val(),
        "annotations" => Object::Texts(Texts::NodeAnnotations(node)).into_val(),
        "conditions" => Object::Texts(Texts::Conditions(node)).into_val(),
        "taints" => list(node.taints().into_iter().map(taint)),
        "unschedulable" => Box::new(CelBool::from(node.unschedulable())),
        "podsKnown" => Box::new(CelBool::from(node.placed_known())),
        _ => return Err(ExecutionError::no_such_key(name)),
    })
}

fn of_placed<'v>(placed: Placed<'v>, name: &str) -> Read<'v> {
    Ok(match name {
        "name" => text(placed.name()),
        "namespace" => text(placed.namespace()),
        "labels" => Object::Texts(Texts::PlacedLabels(placed)).into_val(),
        "annotations" => Object::Texts(Texts::PlacedAnnotations(placed)).into_val(),
        "priority" => int(placed.priority()),
        "priorityClass" => text(placed.priority_class().ok_or_else(|| ExecutionError::no_such_key(name))?),
        "controller" => owner(placed.controller(), name)?,
        "terminating" => Box::new(CelBool::from(placed.terminating())),
        "phase" => text(placed.phase().ok_or_else(|| ExecutionError::no_such_key(name))?),
        "created" => time(placed.created())?,
        _ => return Err(ExecutionError::no_such_key(name)),
    })
}

fn of_cluster<'v>(node: Node<'v>, parts: &Parts, function: &'static str, texts: [&str; 2], number: i64) -> Read<'v> {
    let cluster = node.cluster();
    let selector = parts.iter().fold(Selector::all(), |selector, (name, [one, two])| match *name {
        "namespace" => selector.namespace(one),
        "label" => selector.label(one, two),
        "annotation" => selector.annotation(one, two),
        _ => selector.node_label(one, two),
    });
    let [one, two] = texts;
    let unknown = || failed(function, "plimsoll does not watch the cluster");
    match function {
        "namespace" | "label" | "annotation" | "nodeLabel" => {
            let narrowed = parts.iter().cloned().chain([(function, texts.map(str::to_owned))]).collect();
            Ok(Object::Cluster(node, narrowed).into_val())
        }
        "count" => cluster.count(selector).map(|count| int(count as i64)).ok_or_else(unknown),
        "countUpTo" => cluster.count_up_to(selector, limit(number)).map(|count| int(count as i64)).ok_or_else(unknown),
        "atLeast" => {
            let reached = cluster.at_least(selector, limit(number)).ok_or_else(unknown)?;
            Ok(Box::new(CelBool::from(reached)))
        }
        "requested" => cluster.requested(selector, one).map(|sum| amount(one, sum)).ok_or_else(unknown),
        "nodesWithLabel" => cluster.nodes_with_label(one, two).map(int).ok_or_else(unknown),
        "labelValues" => {
            let values = cluster.label_values(one).ok_or_else(unknown)?;
            Ok(list(values.into_iter().map(label_count)))
        }
        _ => Err(failed(function, "the cluster has no such function")),
    }
}

/// Any number of pods is at least a negative one.
fn limit(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

// === impl Texts ===

impl<'v> Texts<'v> {
    fn get(self, key: &str) -> Option<&'v str> {
        match self {
            Self::PodLabels(pod) => pod.label(key),
            Self::PodAnnotations(pod) => pod.annotation(key),
            Self::NamespaceLabels(pod) => pod.namespace_label(key),
            Self::NodeLabels(node) => node.label(key),
            Self::NodeAnnotations(node) => node.annotation(key),
            Self::Conditions(node) => node.condition(key),
            Self::PlacedLabels(placed) => placed.label(key),
            Self::PlacedAnnotations(placed) => placed.annotation(key),
        }
    }

    /// All keys, in their order. The checker lets none be asked but those of the pod and the node.
    fn keys(self) -> Vec<Box<dyn Val + 'v>> {
        let all = match self {
            Self::PodLabels(pod) => pod.field("/metadata/labels"),
            Self::PodAnnotations(pod) => pod.field("/metadata/annotations"),
            Self::NodeLabels(node) => node.field("/metadata/labels"),
            Self::NodeAnnotations(node) => node.field("/metadata/annotations"),
            _ => return Vec::new(),
        };
        let all: BTreeMap<String, String> = all.ok().flatten().unwrap_or_default();
        all.into_keys().map(|key| Box::new(CelString::from(key)) as Box<dyn Val + 'v>).collect()
    }
}

// === impl Lazy ===

impl<'v> Lazy<'v> {
    fn items(&self) -> &[Box<dyn Val + 'v>] {
        self.items.get_or_init(|| self.object.items())
    }
}

impl std::fmt::Debug for Lazy<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.object.ty().name())
    }
}

impl Val for Lazy<'_> {
    fn get_type(&self) -> &Type {
        self.object.ty()
    }

    fn cel_type() -> &'static Type {
        &OBJECTS[0]
    }

    fn as_indexer<'b, 'w>(&'b self) -> Option<&'b (dyn Indexer + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_iterable<'b, 'w>(&'b self) -> Option<&'b (dyn Iterable + 'w)>
    where
        Self: 'w,
    {
        Some(self)
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        self.object.clone().into_val()
    }
}

impl Indexer for Lazy<'_> {
    fn get<'b, 'w>(&'b self, key: &dyn Val) -> Result<CowVal<'b, 'w>, ExecutionError>
    where
        Self: 'w,
    {
        let value = match (key.downcast_ref::<CelString>(), key.downcast_ref::<Asked>()) {
            (Some(name), _) => self.object.field(name.inner()),
            (_, Some(asked)) => self.object.call(asked),
            _ => {
                let index = key.downcast_ref::<CelInt>().and_then(|index| usize::try_from(**index).ok());
                let item = index.and_then(|index| self.items().get(index)).map(|item| item.clone_as_boxed());
                item.ok_or_else(|| failed("[]", "nothing has this index"))
            }
        }?;
        Ok(CowVal::Owned(value))
    }

    fn steal<'w>(self: Box<Self>, key: &dyn Val) -> Read<'w>
    where
        Self: 'w,
    {
        self.get(key).map(CowVal::into_owned)
    }
}

impl Container for Lazy<'_> {
    fn contains(&self, key: &dyn Val) -> Result<bool, ExecutionError> {
        match (&self.object, key.downcast_ref::<CelString>()) {
            (Object::Texts(texts), Some(key)) => Ok(texts.get(key.inner()).is_some()),
            _ => Ok(false),
        }
    }
}

impl Sizer for Lazy<'_> {
    fn size(&self) -> CelInt {
        match &self.object {
            Object::PlacedPods(node) => i64::from(node.placed_count()).into(),
            _ => (self.items().len() as i64).into(),
        }
    }
}

impl Iterable for Lazy<'_> {
    fn iter<'b, 'w>(&'b self) -> Box<dyn Iterator<'b, 'w> + 'b>
    where
        Self: 'w,
    {
        Box::new(Items(self.items().iter()))
    }
}

/// Runs over values that an object keeps.
struct Items<'b, 'v>(std::slice::Iter<'b, Box<dyn Val + 'v>>);

impl<'b, 'v: 'w, 'w> Iterator<'b, 'w> for Items<'b, 'v> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'w)> {
        self.0.next().map(|item| item.as_ref() as &(dyn Val + 'w))
    }
}

// === values ===

fn text<'v>(text: &'v str) -> Box<dyn Val + 'v> {
    Box::new(CelString::from(text))
}

fn int<'v>(number: impl Into<i64>) -> Box<dyn Val + 'v> {
    Box::new(CelInt::from(number.into()))
}

fn double<'v>(number: f64) -> Box<dyn Val + 'v> {
    Box::new(CelDouble::from(number))
}

/// The contract counts cpu in thousandths, and everything else in its base unit.
fn amount<'v>(resource: &str, value: i64) -> Box<dyn Val + 'v> {
    Box::new(Quantity::counted(value, if resource == "cpu" { -3 } else { 0 }))
}

fn optional<'v>(value: Option<Box<dyn Val + 'v>>) -> Box<dyn Val + 'v> {
    Box::new(CelOptional::from(value))
}

fn list<'v>(items: impl std::iter::Iterator<Item = Box<dyn Val + 'v>>) -> Box<dyn Val + 'v> {
    Box::new(CelList::from(items.collect::<Vec<_>>()))
}

fn time<'v>(seconds: Option<u64>) -> Read<'v> {
    let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok());
    let seconds = seconds.ok_or_else(|| ExecutionError::no_such_key("created"))?;
    Timestamp::of_seconds(seconds)
        .map(|time| Box::new(time) as Box<dyn Val + 'v>)
        .map_err(|error| failed("time", error))
}

fn owner<'v>(owner: Option<Owner<'v>>, name: &str) -> Read<'v> {
    let Owner { api_version, kind, name, uid } = owner.ok_or_else(|| ExecutionError::no_such_key(name))?;
    Ok(record([("apiVersion", text(api_version)), ("kind", text(kind)), ("name", text(name)), ("uid", text(uid))]))
}

fn taint(Taint { key, value, effect }: Taint<'_>) -> Box<dyn Val + '_> {
    record([("key", text(key)), ("value", text(value)), ("effect", text(effect))])
}

fn label_count(LabelCount { value, nodes }: LabelCount<'_>) -> Box<dyn Val + '_> {
    record([("value", text(value)), ("nodes", int(nodes))])
}

fn record<'v, const N: usize>(fields: [(&'static str, Box<dyn Val + 'v>); N]) -> Box<dyn Val + 'v> {
    Box::new(CelMap::from(HashMap::from(fields.map(|(name, value)| (CelMapKey::from(name), value)))))
}

fn json<'v>(field: Result<Option<Json>, plimsoll_policy::JsonError>) -> Read<'v> {
    let field = field.map_err(|error| failed("field", error))?;
    Ok(optional(field.map(|json| json.to_val())))
}

fn failed(function: &str, error: impl ToString) -> ExecutionError {
    ExecutionError::function_error(function, error)
}
