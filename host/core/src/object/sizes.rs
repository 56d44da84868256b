//! Sizes of texts that the API server enforces. Only a forged object has longer ones, and a policy may use each of them
//! as a key or in a reason.

use super::{Entries, ObjectError};
use crate::MAX_ANNOTATION_BYTES;

/// The most bytes of a name: a DNS subdomain.
const MAX_NAME_BYTES: usize = 253;

/// The most bytes of a namespace, and of a label's value: a DNS label.
const MAX_LABEL_BYTES: usize = 63;

/// The most bytes of a key: a domain, a slash and a name.
const MAX_KEY_BYTES: usize = 253 + 1 + 63;

/// Checks the name, the namespace, the labels and the annotations of an object.
///
/// Source: `ValidateObjectMetaAccessor` in `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`.
pub(super) fn check(
    kind: &'static str,
    name: &str,
    namespace: &str,
    labels: &Entries,
    annotations: &Entries,
) -> Result<(), ObjectError> {
    let too_long = |what: &str, bytes: usize, allowed: usize| {
        Err(ObjectError::new(kind, format!("has {what} of {bytes} bytes; Kubernetes allows {allowed}")))
    };
    if name.len() > MAX_NAME_BYTES {
        return too_long("a metadata.name", name.len(), MAX_NAME_BYTES);
    }
    if namespace.len() > MAX_LABEL_BYTES {
        return too_long("a metadata.namespace", namespace.len(), MAX_LABEL_BYTES);
    }
    if annotations.bytes() > MAX_ANNOTATION_BYTES {
        return too_long("metadata.annotations", annotations.bytes(), MAX_ANNOTATION_BYTES);
    }
    for (field, entries) in [("metadata.labels", labels), ("metadata.annotations", annotations)] {
        if let Some((key, _)) = entries.iter().find(|(key, _)| key.len() > MAX_KEY_BYTES) {
            return too_long(&format!("a key in {field}"), key.len(), MAX_KEY_BYTES);
        }
    }
    match labels.iter().find(|(_, value)| value.len() > MAX_LABEL_BYTES) {
        Some((key, value)) => {
            too_long(&format!("a value of metadata.labels['{}']", key.escape_debug()), value.len(), MAX_LABEL_BYTES)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Node, Pod};

    #[test]
    fn what_no_api_server_holds_is_no_pod_and_no_node() {
        let text = |bytes: usize| "x".repeat(bytes);
        for (field, size, what) in [
            ("name", 253, "a metadata.name"),
            ("namespace", 63, "a metadata.namespace"),
            ("value", 63, "a value of metadata.labels['app']"),
            ("label", 317, "a key in metadata.labels"),
            ("key", 317, "a key in metadata.annotations"),
            ("all", (256 << 10) - 4, "metadata.annotations"),
        ] {
            let read = |bytes: usize| {
                let mut metadata = json!({"name": "n", "labels": {"app": "a"}, "annotations": {"note": "a"}});
                match field {
                    "value" => metadata["labels"]["app"] = text(bytes).into(),
                    "label" => metadata["labels"][text(bytes)] = "a".into(),
                    "key" => metadata["annotations"][text(bytes)] = "a".into(),
                    "all" => metadata["annotations"]["note"] = text(bytes).into(),
                    field => metadata[field] = text(bytes).into(),
                }
                let json = json!({"metadata": metadata}).to_string();
                let node = Node::from_json(json.clone().into()).map(drop).map_err(|error| error.to_string());
                (Pod::from_json(json.into()).map(drop).map_err(|error| error.to_string()), node)
            };
            assert_eq!(read(size), (Ok(()), Ok(())), "{field}");
            let (pod, node) = read(size + 1);
            let all = if field == "all" { 4 } else { 0 };
            let detail = format!("has {what} of {} bytes; Kubernetes allows {}", size + all + 1, size + all);
            assert_eq!(pod.unwrap_err(), format!("Pod {detail}"));
            // A node has no namespace.
            let expected = if field == "namespace" { Ok(()) } else { Err(format!("Node {detail}")) };
            assert_eq!(node, expected);
        }
    }
}
