//! Reads a cluster, or one pod, from a file.

mod objects;

use std::{
    hash::{DefaultHasher, Hasher},
    io,
    path::Path,
};

use bytes::Bytes;
use plimsoll_core::{Cluster, Facts, Pod};
use plimsoll_system::{
    FileStamp,
    bounded_file::{ReadFileError, read_input},
};
use serde_json::Value;

use self::objects::SnapshotObjects;
use crate::{
    SnapshotError,
    document::{DocumentError, DocumentObject, each_object, single_value},
    error::RECIPE,
};

/// Maximum bytes of a snapshot: 150,000 pods of 10 kB have less than half of it.
const MAX_SNAPSHOT_BYTES: u64 = 4 << 30;

/// Maximum bytes of a file with pods to ask about: some ten thousand of them.
const MAX_PODS_BYTES: u64 = 128 << 20;

/// Identifies the content of a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFingerprint {
    /// From before the content was read, so a write in between changes it.
    stamp: FileStamp,
    /// It is not cryptographic: at worst, a change is missed.
    hash: u64,
}

// === impl FileFingerprint ===

impl FileFingerprint {
    fn of(stamp: FileStamp, content: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(content);
        Self { stamp, hash: hasher.finish() }
    }

    /// The stamp of the file, from before its content was read.
    pub(crate) fn stamp(&self) -> FileStamp {
        self.stamp
    }
}

/// Reads nodes, pods and namespaces from a file: a list, a list of each kind, or several documents, JSON or YAML.
///
/// Other kinds are skipped. Of two objects with the same name the later one counts.
///
/// # Errors
/// Names the place of the error in the file, and the expected form.
pub fn read_snapshot(path: &Path) -> Result<Cluster, SnapshotError> {
    parse_snapshot(path, &read_text(path, MAX_SNAPSHOT_BYTES, RECIPE)?)
}

/// As [`read_snapshot`], with the fingerprint of the text that was parsed: between two reads, the file could change.
///
/// # Errors
/// As for [`read_snapshot`].
pub fn read_snapshot_with_fingerprint(path: &Path) -> Result<(Cluster, FileFingerprint), SnapshotError> {
    let stamp = FileStamp::of(path);
    let text = read_text(path, MAX_SNAPSHOT_BYTES, RECIPE)?;
    Ok((parse_snapshot(path, &text)?, FileFingerprint::of(stamp, text.as_bytes())))
}

/// Reads a snapshot; `None` if its content equals `published`, which is then updated.
pub(crate) fn read_if_changed(
    path: &Path,
    published: &mut Option<FileFingerprint>,
) -> Option<Result<Cluster, SnapshotError>> {
    let stamp = FileStamp::of(path);
    let text = read_text(path, MAX_SNAPSHOT_BYTES, RECIPE);
    let content = text.as_ref().ok().map(|text| FileFingerprint::of(stamp, text.as_bytes()));
    let before = std::mem::replace(published, content);
    if content.is_some() && content.map(|content| content.hash) == before.map(|before| before.hash) {
        return None;
    }
    Some(text.and_then(|text| parse_snapshot(path, &text)))
}

fn parse_snapshot(path: &Path, text: &str) -> Result<Cluster, SnapshotError> {
    let mut found = SnapshotObjects::default();
    each_object(text, |object| found.add(object)).map_err(|cause| malformed(path, cause))?;
    if found.nodes.is_empty() {
        return Err(SnapshotError::NoNodes { path: path.to_owned() });
    }
    Ok(found.into_cluster(path))
}

/// Nodes, pods and namespaces as a file has them.
#[derive(Debug, Default)]
pub struct RawObjects {
    /// The nodes.
    pub nodes: Vec<Value>,
    /// The pods, placed or not.
    pub pods: Vec<Value>,
    /// The namespaces.
    pub namespaces: Vec<Value>,
}

/// Reads the JSON of nodes, pods and namespaces without `managedFields`; objects of other kinds are skipped.
///
/// # Errors
/// As for [`read_snapshot`], but a file without nodes is none.
pub fn read_objects(path: &Path) -> Result<RawObjects, SnapshotError> {
    let text = read_text(path, MAX_SNAPSHOT_BYTES, RECIPE)?;
    let mut found = RawObjects::default();
    let read = each_object(&text, |object| {
        let list = match object.kind.as_deref() {
            Some("Node") => &mut found.nodes,
            Some("Pod") => &mut found.pods,
            Some("Namespace") => &mut found.namespaces,
            _ => return Ok(()),
        };
        list.push(json_of(object)?);
        Ok(())
    });
    read.map_err(|cause| malformed(path, cause))?;
    Ok(found)
}

/// The JSON of an object without `managedFields`.
fn json_of(object: &DocumentObject<'_>) -> Result<Value, DocumentError> {
    let mut json: Value = serde_json::from_str(object.json).map_err(|error| object.wrong(error))?;
    if let Some(metadata) = json.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(json)
}

/// Reads one pod from a file, JSON or YAML.
///
/// # Errors
/// As for [`read_snapshot`]; also if there is not exactly one pod, or another object.
pub fn read_pod(path: &Path) -> Result<Pod, SnapshotError> {
    only_one(path, read_pods(path)?)
}

/// Reads the JSON of one pod without `managedFields` from a file, JSON or YAML.
///
/// # Errors
/// As for [`read_pod`].
pub fn read_pod_as_json(path: &Path) -> Result<Value, SnapshotError> {
    only_one(path, each_pod(path, json_of)?)
}

fn only_one<T>(path: &Path, mut pods: Vec<T>) -> Result<T, SnapshotError> {
    let count = pods.len();
    pods.pop().filter(|_| count == 1).ok_or_else(|| SnapshotError::NotOnePod { path: path.to_owned(), count })
}

/// Reads the pods of a file, JSON or YAML: one, several documents, or a list.
///
/// # Errors
/// As for [`read_snapshot`]; also if there is an object other than a pod.
pub fn read_pods(path: &Path) -> Result<Vec<Pod>, SnapshotError> {
    each_pod(path, |object| {
        let json = Bytes::copy_from_slice(object.json.as_bytes());
        Pod::from_json(json).map_err(|error| object.wrong(error))
    })
}

fn each_pod<T>(
    path: &Path,
    read_one: impl Fn(&DocumentObject<'_>) -> Result<T, DocumentError>,
) -> Result<Vec<T>, SnapshotError> {
    let text = read_text(path, MAX_PODS_BYTES, "a Pod in YAML or JSON")?;
    let mut pods = Vec::new();
    let read = each_object(&text, |object| {
        match object.kind.as_deref() {
            Some("Pod") => {}
            Some(other) => return Err(object.wrong(format_args!("kind {other}: expected a Pod"))),
            None => return Err(object.wrong("the key 'kind' is missing: expected a Pod")),
        }
        pods.push(read_one(object)?);
        Ok(())
    });
    read.map_err(|cause| malformed(path, cause))?;
    Ok(pods)
}

/// Reads facts from outside, JSON or YAML: a map from each source to its facts by key.
///
/// # Errors
/// If the file cannot be read, or has something else.
pub fn read_facts(path: &Path) -> Result<Facts, SnapshotError> {
    let text = read_text(path, MAX_PODS_BYTES, "a map from each source of facts to its facts by key")?;
    let value = single_value(&text).map_err(|cause| malformed(path, cause))?;
    Facts::from_value(&value).map_err(|cause| SnapshotError::NoFacts { path: path.to_owned(), cause })
}

fn read_text(path: &Path, limit: u64, expected: &'static str) -> Result<String, SnapshotError> {
    let bytes = read_input(path, limit);
    let text = bytes.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| {
            let text = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to());
            ReadFileError::Unreadable(io::Error::new(io::ErrorKind::InvalidData, text))
        })
    });
    let text = text.map_err(|cause| SnapshotError::Unreadable { path: path.to_owned(), cause, expected })?;
    if text.trim().is_empty() {
        return Err(SnapshotError::Empty { path: path.to_owned(), expected });
    }
    Ok(text)
}

fn malformed(path: &Path, cause: DocumentError) -> SnapshotError {
    SnapshotError::Malformed { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use super::*;

    const NODE: &str = r#"{"kind": "Node", "metadata": {"name": "n"}}"#;

    #[test]
    fn the_fingerprint_is_that_of_the_text_that_was_parsed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.json");
        let put = |text: &str| fs::write(&path, text).unwrap();
        put(NODE);
        let mut published = Some(read_snapshot_with_fingerprint(&path).unwrap().1);
        assert!(read_if_changed(&path, &mut published).is_none(), "the content is the same");
        put("{");
        assert!(read_if_changed(&path, &mut published).unwrap().is_err());
        assert!(read_if_changed(&path, &mut published).is_none(), "a bad content is told once");
        put(NODE);
        assert!(read_if_changed(&path, &mut published).unwrap().is_ok(), "what was in force before is news again");
        fs::remove_file(&path).unwrap();
        assert!(read_if_changed(&path, &mut published).unwrap().is_err());
        assert_eq!(published, None);
    }

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
    }
}
