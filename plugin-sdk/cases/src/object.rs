//! Reads of Kubernetes objects as JSON.

use std::collections::BTreeSet;

use serde_json::Value;

/// Whether the text at a pointer is one of these names.
pub(crate) fn is_one_of(object: &Value, pointer: &str, names: &BTreeSet<String>) -> bool {
    object.pointer(pointer).and_then(Value::as_str).is_some_and(|name| names.contains(name))
}

/// The node that a pod is bound to, or nominated for.
pub(crate) fn node_of(pod: &Value) -> Option<String> {
    ["/spec/nodeName", "/status/nominatedNodeName"]
        .into_iter()
        .find_map(|at| text(pod, at).filter(|node| !node.is_empty()))
}

/// The labels of an object that are texts.
pub(crate) fn labels(object: &Value) -> Vec<(String, String)> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Whether an object has a label with this value.
pub(crate) fn has_label(object: &Value, key: &str, value: &str) -> bool {
    object["metadata"]["labels"][key] == value
}

/// The text at a pointer.
pub(crate) fn text(object: &Value, pointer: &str) -> Option<String> {
    object.pointer(pointer)?.as_str().map(str::to_owned)
}
