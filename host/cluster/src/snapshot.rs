//! Reads a cluster, or one pod, from a file.

mod objects;

use std::path::{Path, PathBuf};

use plimsoll_core::{Cluster, Facts, ObjectError, Pod};
use plimsoll_system::bounded_file::read_input;
use serde_json::Value;

use self::objects::SnapshotObjects;
use crate::document::{DocumentObject, each_object, single_value, without_place};

/// The recipe for a snapshot file, in messages.
const RECIPE: &str = "the output of 'kubectl get nodes,pods -A -o json'";

/// Maximum bytes of a snapshot: 150,000 pods of 10 kB have less than half of it.
const MAX_SNAPSHOT_BYTES: u64 = 4 << 30;

/// Maximum bytes of a file with a pod or with facts.
const MAX_FILE_BYTES: u64 = 128 << 20;

/// Why a file is no snapshot, or no pod.
#[derive(Debug, thiserror::Error)]
#[error("{}{cause}", path.display())]
pub struct SnapshotError {
    path: PathBuf,
    /// Follows the file's name: the place, the error, and the expected form.
    cause: String,
}

/// Reads nodes, pods, namespaces and DeviceClasses from a file: a list, a list of each kind, or several documents, JSON or YAML.
///
/// Other kinds are skipped. Of two objects with the same name the later one counts.
///
/// # Errors
/// Names the place of the error in the file, and the expected form.
pub fn read_snapshot(path: &Path) -> Result<Cluster, SnapshotError> {
    read_snapshot_and_waiting(path).map(|(cluster, _)| cluster)
}

/// The same, with the pods that wait for a node.
///
/// # Errors
/// As for [`read_snapshot`].
pub fn read_snapshot_and_waiting(path: &Path) -> Result<(Cluster, Vec<Pod>), SnapshotError> {
    let mut found = SnapshotObjects::default();
    each_object_of(path, MAX_SNAPSHOT_BYTES, RECIPE, |object| found.add(object))?;
    if found.nodes.is_empty() {
        return Err(SnapshotError::new(path, format!(" has no Node: expected {RECIPE}")));
    }
    Ok(found.into_cluster(path))
}

/// Nodes, pods, namespaces and DeviceClasses as a file has them.
#[derive(Debug, Default)]
pub struct RawObjects {
    /// The nodes.
    pub nodes: Vec<Value>,
    /// The pods, placed or not.
    pub pods: Vec<Value>,
    /// The namespaces.
    pub namespaces: Vec<Value>,
    /// The DeviceClasses.
    pub device_classes: Vec<Value>,
}

/// Reads the JSON of nodes, pods, namespaces and DeviceClasses without `managedFields`; objects of other kinds are skipped.
///
/// # Errors
/// As for [`read_snapshot`], but a file without nodes is none.
pub fn read_objects(path: &Path) -> Result<RawObjects, SnapshotError> {
    let mut found = RawObjects::default();
    each_object_of(path, MAX_SNAPSHOT_BYTES, RECIPE, |object| {
        let list = match object.kind.as_deref() {
            Some("Node") => &mut found.nodes,
            Some("Pod") => &mut found.pods,
            Some("Namespace") => &mut found.namespaces,
            Some("DeviceClass") => &mut found.device_classes,
            _ => return Ok(()),
        };
        list.push(json_of(object)?);
        Ok(())
    })?;
    Ok(found)
}

/// The JSON of an object without `managedFields`.
fn json_of(object: &DocumentObject<'_>) -> Result<Value, String> {
    let mut json: Value = serde_json::from_str(&object.with_defaults()?).map_err(|error| object.wrong(error))?;
    if let Some(metadata) = json.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(json)
}

/// Reads one pod from a file, JSON or YAML.
///
/// # Errors
/// As for [`read_pod_as_json`].
pub fn read_pod(path: &Path) -> Result<Pod, SnapshotError> {
    let json = read_pod_as_json(path)?.to_string();
    let wrong = |error: ObjectError| SnapshotError::new(path, format!(": {}", without_place(&error.to_string())));
    Pod::from_json(json.into()).map_err(wrong)
}

/// Reads the JSON of one pod without `managedFields` from a file, JSON or YAML.
///
/// # Errors
/// As for [`read_snapshot`]; also if there is not exactly one pod, or another object.
pub fn read_pod_as_json(path: &Path) -> Result<Value, SnapshotError> {
    let mut pods = Vec::new();
    each_object_of(path, MAX_FILE_BYTES, "a Pod in YAML or JSON", |object| {
        match object.kind.as_deref() {
            Some("Pod") => {}
            Some(other) => return Err(object.wrong(format_args!("kind {other}: expected a Pod"))),
            None => return Err(object.wrong("the key 'kind' is missing: expected a Pod")),
        }
        pods.push(json_of(object)?);
        Ok(())
    })?;
    let count = pods.len();
    let only = pods.pop().filter(|_| count == 1);
    only.ok_or_else(|| SnapshotError::new(path, format!(" has {count} pods: expected one")))
}

fn each_object_of(
    path: &Path,
    limit: u64,
    expected: &str,
    visit: impl FnMut(&DocumentObject<'_>) -> Result<(), String>,
) -> Result<(), SnapshotError> {
    each_object(&read_text(path, limit, expected)?, visit).map_err(|cause| SnapshotError::new(path, cause))
}

/// Reads facts from outside, JSON or YAML: a map from each source to its facts by key.
///
/// # Errors
/// If the file cannot be read, or has something else.
pub fn read_facts(path: &Path) -> Result<Facts, SnapshotError> {
    let text = read_text(path, MAX_FILE_BYTES, "a map from each source of facts to its facts by key")?;
    let value = single_value(&text).map_err(|cause| SnapshotError::new(path, cause))?;
    Facts::from_value(&value).map_err(|cause| SnapshotError::new(path, format!(": {cause}")))
}

fn read_text(path: &Path, limit: u64, expected: &str) -> Result<String, SnapshotError> {
    let wrong = |cause: &str| SnapshotError::new(path, format!(" {cause}: expected {expected}"));
    let bytes = read_input(path, limit).map_err(|error| wrong(&error.to_string()))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| wrong(&format!("cannot be read: byte {} is not UTF-8", error.utf8_error().valid_up_to())))?;
    if text.trim().is_empty() { Err(wrong("is empty")) } else { Ok(text) }
}

// === impl SnapshotError ===

impl SnapshotError {
    fn new(path: &Path, cause: String) -> Self {
        Self { path: path.to_owned(), cause }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use super::*;

    const NODE: &str = r#"{"kind": "Node", "metadata": {"name": "n"}}"#;

    #[test]
    fn a_file_with_namespaces_has_their_labels_and_one_without_knows_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.json");
        let known = |text: &str| {
            fs::write(&path, text).unwrap();
            let pod = Pod::from_json(r#"{"metadata":{"name":"p","namespace":"web"}}"#.into()).unwrap();
            let cluster = Arc::new(read_snapshot(&path).unwrap());
            let view = plimsoll_core::View::new(Arc::new(pod), cluster, Arc::default(), 0);
            let read = |read| format!("{:?}", view.read(plimsoll_core::Read::Pod(read)).unwrap());
            read(plimsoll_core::PodRead::NamespaceLabel("tenant")) + &read(plimsoll_core::PodRead::NamespaceKnown)
        };
        assert_eq!(known(NODE), "AbsentNumber(0)");
        let web = r#"{"kind": "Namespace", "metadata": {"name": "web", "labels": {"tenant": "a"}}}"#;
        assert_eq!(known(&format!("{NODE}\n{web}")), r#"Text("a")Number(1)"#);
        fs::write(&path, format!("{NODE}\n{}", web.replace("\"web\"", "7"))).unwrap();
        assert!(read_snapshot(&path).unwrap_err().to_string().contains("Namespace"));
        let class =
            r#"{"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "x/gpu"}}"#;
        fs::write(&path, format!("{NODE}\n{class}")).unwrap();
        let classes = Arc::clone(read_snapshot(&path).unwrap().device_classes());
        assert_eq!(classes.provider("x/gpu", &plimsoll_core::Quantities::default()), Some("gpu"));
    }

    #[test]
    fn a_misspelt_key_of_a_written_object_is_told_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p");
        let pod = |text: &str| {
            fs::write(&path, text).unwrap();
            read_pod_as_json(&path).err().map_or_else(String::new, |error| error.to_string())
        };
        let yaml = "kind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - imagee: x\n";
        assert!(pod(yaml).contains("p:6:5: spec.containers[0]: unknown key 'imagee': expected one of name, image"));
        let json = r#"{"kind": "Pod", "metadata": {"anotations": {"a": "b"}}}"#;
        assert!(
            pod(json).contains("p:1:30: metadata: unknown key 'anotations': expected one of name"),
            "{}",
            pod(json)
        );
        let list = format!(r#"{{"kind": "List", "items": [{json}]}}"#);
        assert!(pod(&list).contains("items[0]: unknown field `anotations`"), "{}", pod(&list));
        // Of a newer API server, which knows more keys.
        let kept = json.replace(r#"{"anot"#, r#"{"resourceVersion": "7", "anot"#);
        assert_eq!(pod(&kept), "");
        fs::write(&path, format!("{NODE}\n{}", NODE.replace("metadata", "spec\": {}, \"meta"))).unwrap();
        assert!(read_snapshot(&path).unwrap_err().to_string().contains("document 1: unknown field `meta`"));
    }
}
