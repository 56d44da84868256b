//! Cases in YAML: a world, and the answers that are expected of the policy.

mod error;
mod file;

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use plimsoll_yaml::Format;
use serde_json::Value;

pub use self::error::CaseError;
use self::file::{CaseYaml, Time, Written};
use crate::{Expectations, World, WorldError, expect::Lines};

/// Maximum bytes of a file: a few hundred whole nodes of 8 kB.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Ample for a few hundred whole objects of a cluster, and far from a size that would take seconds.
const FORMAT: Format = Format {
    max_nodes: 300_000,
    max_replayed_events: 100_000,
    free_field: Some("settings"),
    empty: "the file is empty: expected at least description and expect",
};

/// Maximum number of cases in a directory.
const MAX_FILES: usize = 10_000;

/// One file of a `cases` directory.
///
/// ```yaml
/// description: pods of team-a stay in their pool
/// settings: {pools: {team-a: pool-a}}              # absent: those of the sidecar, or none
/// now: 2026-01-31T12:00:00Z                        # or Unix seconds; absent: 0
/// pod: {metadata: {name: a, namespace: team-a}}    # as `kubectl get -o yaml` prints it
/// nodes:                                           # the cluster
/// - metadata: {name: node-1, labels: {example.com/pool: pool-a}}
/// - metadata: {name: node-2}
/// request: [node-1, node-2]                        # the nodes that are asked about; absent: all of them
/// pods:                                            # placed: each names its node; `unknown`: the host has no view
/// - {metadata: {name: b, namespace: web}, spec: {nodeName: node-1}}
/// namespaces:                                      # absent: the host knows of none
/// - {metadata: {name: team-a, labels: {example.com/tenant: a}}}
/// deviceClasses:
/// - {metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}
/// facts:                                           # by source; a node's by its name; absent: the policy may read none
///   load: {node-1: 0.85}
/// candidates:                                      # for preempt
/// - {node: node-1, victims: [web/b], pdbViolations: 0}
/// expect:
///   filter: {node-1: fits, node-2: {unresolvable: "node is outside the namespace's pool"}}
///   preempt: {node-1: keep}                        # or {reject: reason}, {replace: [web/b]}
///   bind: {node-1: {annotations: {example.com/device: "0"}}, node-2: {refused: no device is left}}
///   # a binding may have labels too: {annotations: {}, labels: {}}, or be {retry: reason}
/// ```
///
/// Unknown keys are refused, also in objects. `expect` has a line for every node of each verb that it names: `filter`,
/// `score`, `rank`, `preempt`, `bind`; or `refused`, the message with which the settings are refused.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file.
    pub path: PathBuf,
    /// A sentence about it.
    pub description: String,
    /// The policy's settings as JSON.
    pub settings: Arc<str>,
    /// The pod, the nodes and the rest of the question.
    pub world: World,
    /// The expected answers.
    pub expect: Expectations,
    /// Whether the file has settings.
    pub(crate) has_settings: bool,
    pub(crate) lines: Lines,
}

/// The error about a file that only looks like a case.
pub const WRONG_CASE: &str = "the ending must be lower-case: expected .yaml or .yml";

/// Reads every `*.yaml` and `*.yml` of a directory, by name.
///
/// # Errors
/// If there is none, one is invalid, or one ends with `.YAML`.
pub fn cases(directory: impl AsRef<Path>) -> Result<Vec<Case>, CaseError> {
    let directory = directory.as_ref();
    if let Some(path) = Case::ignored_files(directory)?.first() {
        return Err(CaseError::unusable(path, WRONG_CASE));
    }
    let paths = Case::files(directory)?;
    if paths.is_empty() {
        return Err(CaseError::Empty(directory.to_owned()));
    }
    paths.iter().map(|path| Case::read(path)).collect()
}

// === impl Case ===

impl Case {
    /// The files of a directory that are read as cases, by name.
    ///
    /// # Errors
    /// If it cannot be listed, or has too many.
    pub fn files(directory: &Path) -> Result<Vec<PathBuf>, CaseError> {
        Self::files_ending(directory, is_ending)
    }

    /// The files of a directory that only look like cases, as `a.YAML` does, by name.
    ///
    /// # Errors
    /// As [`Case::files`].
    pub fn ignored_files(directory: &Path) -> Result<Vec<PathBuf>, CaseError> {
        Self::files_ending(directory, |ending| !is_ending(ending) && is_ending(&ending.to_ascii_lowercase()))
    }

    fn files_ending(directory: &Path, is_wanted: impl Fn(&OsStr) -> bool) -> Result<Vec<PathBuf>, CaseError> {
        let unread = |error: io::Error| CaseError::unusable(directory, error);
        let mut paths = vec![];
        for entry in directory.read_dir().map_err(unread)? {
            let path = entry.map_err(unread)?.path();
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if !is_hidden && path.extension().is_some_and(&is_wanted) {
                paths.push(path);
            }
            if paths.len() > MAX_FILES {
                return Err(CaseError::unusable(directory, format_args!("it has more than {MAX_FILES} files")));
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is not a valid case.
    pub fn read(path: &Path) -> Result<Self, CaseError> {
        let text = read_text(path).map_err(|error| CaseError::unusable(path, error))?;
        Self::from_yaml(path, &text)
    }

    /// Reads a case from its text; the path is for messages.
    ///
    /// # Errors
    /// If it is not a valid case, with line, field and what was expected.
    pub fn from_yaml(path: impl Into<PathBuf>, yaml: &str) -> Result<Self, CaseError> {
        let path = path.into();
        match FORMAT.read::<CaseYaml>(yaml) {
            Ok(read) => Ok(Self::new(path, read)),
            Err(error) => Err(CaseError::malformed(path, &error)),
        }
    }

    /// The same case with these settings (JSON), unless the file has settings.
    #[must_use]
    pub fn with_default_settings(mut self, settings: &Arc<str>) -> Self {
        if !self.has_settings {
            self.settings = Arc::clone(settings);
        }
        self
    }

    /// The error of a world that cannot be, with the line of the object.
    pub(crate) fn world_error(&self, error: &WorldError) -> CaseError {
        let line = self.lines.of_object(error.object());
        let error = error.to_string();
        // The place within the object as JSON, which its author has not seen.
        let error = error.rsplit_once(" at line 1 column ").map_or(&*error, |(error, _)| error).to_owned();
        CaseError::Unusable { path: self.path.clone(), line, error }
    }

    fn new(path: PathBuf, read: CaseYaml) -> Self {
        let CaseYaml {
            description,
            settings,
            now: Time(now),
            pod,
            nodes,
            request,
            pods,
            namespaces,
            device_classes,
            facts,
            candidates,
            expect,
        } = read;
        let (expect, mut lines) = expect.resolve();
        let without_pods = pods.0.is_none();
        let world = World {
            pod: lines.take_one("pod".to_owned(), pod).0,
            nodes: objects(lines.take_all("nodes", nodes)),
            request: request.map(|names| lines.take_all("request", names)),
            pods: objects(lines.take_all("pods", pods.0.unwrap_or_default())),
            namespaces: objects(lines.take_all("namespaces", namespaces)),
            device_classes: objects(lines.take_all("deviceClasses", device_classes)),
            candidates: lines.take_all("candidates", candidates),
            facts: facts.map(|facts| lines.take_one("facts".to_owned(), facts)).unwrap_or_default(),
            now,
            without_pods,
            without_cluster: false,
        };
        let has_settings = settings.is_some();
        let settings = settings.unwrap_or_default().to_string().into();
        Self { path, description, settings, world, expect, has_settings, lines }
    }
}

fn objects<K>(written: Vec<Written<K>>) -> Vec<Value> {
    written.into_iter().map(|object| object.0).collect()
}

fn is_ending(ending: &OsStr) -> bool {
    ending == "yaml" || ending == "yml"
}

/// A regular file of bounded size: anything else might not end.
fn read_text(path: &Path) -> Result<String, String> {
    let unread = |error: io::Error| format!("cannot be read: {error}");
    if !path.metadata().map_err(unread)?.is_file() {
        return Err("is no regular file: expected a case in YAML".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(unread)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("is larger than {MAX_FILE_BYTES} bytes, the most for a case"));
    }
    let text = String::from_utf8(bytes);
    text.map(|text| text.trim_start_matches('\u{feff}').to_owned())
        .map_err(|error| format!("byte {} is not UTF-8: expected YAML text", error.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests;
