//! Cases in YAML: a world, and the answers that are expected of the policy.

use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use plimsoll_core::{Fault, Verb};
use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use crate::{
    Difference, Expectations, ProposedVictims, World, WorldError,
    expect::{ExpectYaml, Lines},
    yaml::{self, YamlError},
};

/// Maximum bytes of a file: a few hundred whole nodes of 8 kB.
const MAX_BYTES: u64 = 4 << 20;

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
/// Unknown keys are refused. `expect` has a line for every node of each verb that it names: `filter`,
/// `score`, `rank`, `preempt`, `bind`; or `refused`, the text with which the settings are turned down.
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

/// Why a case failed or could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file or directory cannot be read, is no case, or names an object that is not there.
    #[error("{}: {error}", place(.path, *.line))]
    Unusable {
        /// The file or directory.
        path: PathBuf,
        /// The line, if the error is in one.
        line: Option<u64>,
        /// The error, with the field that it is in.
        error: String,
    },
    /// The call ended with a fault.
    #[error("{path} ({description}): {verb}: {fault}", path = .path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// The description of the case.
        description: String,
        /// The verb that was asked.
        verb: Verb,
        /// The fault that ended the call.
        fault: Fault,
    },
    /// The policy answers something else.
    #[error("{path} ({description}):{}", lines_of(.differences), path = .path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// The description of the case.
        description: String,
        /// Where it does.
        differences: Vec<Difference>,
    },
    /// A directory without cases tests nothing.
    #[error("{path} has no *.yaml or *.yml", path = .0.display())]
    Empty(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseYaml {
    description: String,
    #[serde(default, deserialize_with = "present")]
    settings: Option<Value>,
    #[serde(default)]
    now: Time,
    #[serde(default = "nameless")]
    pod: Spanned<Value>,
    #[serde(default)]
    nodes: Vec<Spanned<Value>>,
    #[serde(default)]
    request: Option<Vec<String>>,
    #[serde(default)]
    pods: PlacedPods,
    #[serde(default)]
    namespaces: Vec<Spanned<Value>>,
    #[serde(default)]
    facts: Value,
    #[serde(default)]
    candidates: Vec<ProposedVictims>,
    expect: ExpectYaml,
}

/// Unix seconds.
#[derive(Default, Deserialize)]
#[serde(try_from = "TimeYaml")]
struct Time(u64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected Unix seconds, or a time such as 2026-01-31T12:00:00Z")]
enum TimeYaml {
    Seconds(u64),
    Text(String),
}

/// The placed pods; none where the host has no view of them.
struct PlacedPods(Option<Vec<Spanned<Value>>>);

/// The error about a file that only looks like a case.
pub const WRONG_CASE: &str = "the ending must be lower-case: expected .yaml or .yml";

/// Reads every `*.yaml` and `*.yml` of a directory, by name.
///
/// # Errors
/// If there is none, one is no case, or one ends with `.YAML`.
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

// === impl CaseError ===

impl CaseError {
    /// The error of a file, or of a directory.
    pub(crate) fn unusable(path: &Path, error: impl fmt::Display) -> Self {
        Self::Unusable { path: path.to_owned(), line: None, error: error.to_string() }
    }

    /// The error of a case whose objects cannot be, with the line of the object.
    pub(crate) fn of_world(case: &Case, error: &WorldError) -> Self {
        let line = error.object().and_then(|object| case.lines.of_object(object));
        let error = error.to_string();
        // The place within the object as JSON, which its author has not seen.
        let error = error.rsplit_once(" at line 1 column ").map_or(&*error, |(error, _)| error).to_owned();
        Self::Unusable { path: case.path.clone(), line, error }
    }

    fn malformed(path: PathBuf, error: &YamlError) -> Self {
        Self::Unusable { path, line: error.line, error: error.to_string() }
    }
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
    /// If it cannot be read or is no case.
    pub fn read(path: &Path) -> Result<Self, CaseError> {
        let text = read_text(path).map_err(|error| CaseError::unusable(path, error))?;
        Self::from_yaml(path, &text)
    }

    /// Reads a case from its text; the path is for messages.
    ///
    /// # Errors
    /// If it is no case, with line, field and what was expected.
    pub fn from_yaml(path: impl Into<PathBuf>, yaml: &str) -> Result<Self, CaseError> {
        let path = path.into();
        match yaml::read::<CaseYaml>(yaml) {
            Ok(read) => Ok(Self::new(path, read)),
            Err(error) => Err(CaseError::malformed(path, &error)),
        }
    }

    /// The same case with these settings (JSON), unless the file has settings of its own.
    #[must_use]
    pub fn with_default_settings(mut self, settings: &Arc<str>) -> Self {
        if !self.has_settings {
            self.settings = Arc::clone(settings);
        }
        self
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
            facts,
            candidates,
            expect,
        } = read;
        let (expect, mut lines) = expect.resolve();
        let without_pods = pods.0.is_none();
        let world = World {
            pod: lines.take_object("pod".to_owned(), pod),
            nodes: lines.take_objects("nodes", nodes),
            request,
            pods: lines.take_objects("pods", pods.0.unwrap_or_default()),
            namespaces: lines.take_objects("namespaces", namespaces),
            candidates,
            facts,
            now,
            without_pods,
            without_cluster: false,
        };
        let has_settings = settings.is_some();
        let settings = settings.unwrap_or_default().to_string().into();
        Self { path, description, settings, world, expect, has_settings, lines }
    }
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
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(unread)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes, the most for a case"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8: expected YAML text", error.utf8_error().valid_up_to()))
}

/// The pod of a case that has none.
fn nameless() -> Spanned<Value> {
    let pod = serde_json::json!({"metadata": {"name": "pod"}});
    Spanned::new(pod, Location::UNKNOWN, Location::UNKNOWN)
}

/// `settings:` with nothing behind it is `null`, which is something other than no such key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<TimeYaml> for Time {
    type Error = String;

    fn try_from(yaml: TimeYaml) -> Result<Self, String> {
        match yaml {
            TimeYaml::Seconds(seconds) => Ok(Self(seconds)),
            TimeYaml::Text(text) => match text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second) {
                Ok(second) if second >= 0 => Ok(Self(second as u64)),
                _ => Err(format!("'{text}' is no time: expected Unix seconds, or such as 2026-01-31T12:00:00Z")),
            },
        }
    }
}

impl Default for PlacedPods {
    fn default() -> Self {
        Self(Some(vec![]))
    }
}

impl<'de> Deserialize<'de> for PlacedPods {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlacedPodsVisitor)
    }
}

/// Keeps the line of each pod, which a value that was read as a whole would not have.
struct PlacedPodsVisitor;

impl<'de> Visitor<'de> for PlacedPodsVisitor {
    type Value = PlacedPods;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of placed pods, or `unknown`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<PlacedPods, E> {
        match word {
            "unknown" => Ok(PlacedPods(None)),
            _ => Err(E::custom("expected a list of placed pods, or `unknown`")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PlacedPods, A::Error> {
        let mut pods = vec![];
        while let Some(pod) = list.next_element()? {
            pods.push(pod);
        }
        Ok(PlacedPods(Some(pods)))
    }
}

/// `cases/a.yaml:3`.
fn place(path: &Path, line: Option<u64>) -> String {
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}", path.display())
}

/// Each difference on a line of its own.
fn lines_of(differences: &[Difference]) -> String {
    differences.iter().flat_map(|difference| ["\n  ".to_owned(), difference.to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Read, Selector};

    use super::*;

    fn error(yaml: &str) -> String {
        Case::from_yaml("cases/a.yaml", yaml).unwrap_err().to_string()
    }

    #[test]
    fn a_malformed_case_is_told_with_its_line_its_field_and_what_was_expected() {
        let table = [
            ("description: d\nexpect: {}\nnode: []", "cases/a.yaml:3:", "unknown field `node`"),
            ("description: d", "cases/a.yaml:", "missing field `expect`"),
            ("description: d\nexpect:\n  filter: [a]", "cases/a.yaml:3:", "expect.filter"),
            ("description: d\nexpect:\n  score:\n    a: much", "cases/a.yaml:4:", "expect.score.a"),
            ("description: d\nexpect:\n  filter:\n    a: no", "cases/a.yaml:4:", "expected `fits`"),
            ("description: d\nnodes: {}\nexpect: {}", "cases/a.yaml:2:", "nodes"),
            (
                "description: d\npods: none\nexpect: {}",
                "cases/a.yaml:2:",
                "expected a list of placed pods, or `unknown`",
            ),
            ("description: d\nnow: soon\nexpect: {}", "cases/a.yaml:2:", "'soon' is no time: expected Unix seconds"),
            ("description: d\nnow: [1]\nexpect: {}", "cases/a.yaml:2:", "expected Unix seconds"),
            ("description: d\nexpect: {}\n---\nexpect: {}", "cases/a.yaml:", "document"),
            ("[", "cases/a.yaml:", ""),
            ("", "cases/a.yaml:", ""),
        ];
        for (yaml, place, expected) in table {
            let error = error(yaml);
            assert!(error.starts_with(place) && error.contains(expected), "{yaml}\n{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn an_object_that_is_none_is_told_with_its_line() {
        let table = [
            ("pod:\n  metadata: {name: [p]}", 3, "pod: "),
            ("nodes:\n- {metadata: {name: a}}\n- {metadata: {name: [b]}}", 4, "nodes[1]: "),
            ("nodes: [{metadata: {name: a}}]\npods:\n- metadata: {name: p}\n  spec: {nodeName: b}", 4, "pods[0] "),
            ("namespaces:\n\n- {metadata: {labels: a}}", 4, "namespaces[0]: "),
        ];
        for (world, line, object) in table {
            let yaml = format!("description: d\n{world}\nexpect: {{}}");
            let case = Case::from_yaml("cases/a.yaml", &yaml).unwrap();
            let error = CaseError::of_world(&case, &case.world.view().unwrap_err()).to_string();
            assert!(error.starts_with(&format!("cases/a.yaml:{line}: {object}")), "{yaml}\n{error}");
            assert!(!error.contains("column"), "{error}");
        }
    }

    #[test]
    fn an_expectation_that_is_none_is_told_with_what_may_stand_there() {
        let table = [
            ("filter: {busy: unschedulable}", "{unschedulable: the reason}`", "found `unschedulable`"),
            ("filter: {busy: {unschedulable: [x]}}", "expected `fits`", "found `unschedulable:` with something else"),
            ("preempt: {busy: {replace: web/a}}", "{replace: [namespace/name]}`", "found `replace:`"),
            ("bind: {busy: fits}", "{annotations: {KEY: \"VALUE\"}}`", "found `fits`"),
        ];
        for (expect, expected, found) in table {
            let error = error(&format!("description: d\nexpect: {{{expect}}}"));
            assert!(error.contains(expected) && error.contains(found), "{expect}: {error}");
        }
    }

    #[test]
    fn a_hostile_file_is_refused_at_once() {
        let deep = format!("description: d\nexpect: {}{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut laughs =
            String::from("description: d\nexpect: {}\nsettings:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n");
        for (name, of) in ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"])
        {
            let all = vec![format!("*{of}"); 10].join(", ");
            laughs.extend(["  ", name, ": &", name, " [", &all, "]\n"]);
        }
        let wide = format!("description: d\nexpect: {{}}\nsettings: [{}]", "1,".repeat(400_000));
        for yaml in [deep, laughs, wide] {
            assert!(error(&yaml).len() < 1_000);
        }
    }

    #[test]
    fn an_error_is_short_whatever_it_quotes() {
        let long = "k".repeat(1 << 20);
        for yaml in ["expect: {filter: {a: LONG}}", "expect: {}\nnow: LONG", "expect: {filter: {LONG: no}}", "LONG: 1"]
        {
            let error = error(&format!("description: d\n{}", yaml.replace("LONG", &long)));
            assert!(error.len() < 1_200, "{yaml}: {}", error.len());
        }
    }

    #[test]
    fn the_pod_itself_does_not_count_where_it_is_placed_already() {
        let pod = "{metadata: {name: p, namespace: t}, spec: {nodeName: n1}}";
        let read = |pods: &str| {
            let yaml = format!(
                "description: d\npod: {pod}\nnodes: [{{metadata: {{name: n1}}}}]\npods: [{pods}]\nexpect: {{}}"
            );
            let view = Case::from_yaml("a.yaml", &yaml).unwrap().world.view().map_err(|error| error.to_string())?;
            let number = |read| format!("{:?}", view.read(read).unwrap());
            Ok::<_, String>([number(Read::PlacedCount(0)), number(Read::ClusterCount(Selector::all()))])
        };
        let other = pod.replace("name: p", "name: q");
        assert_eq!(read(&format!("{pod}, {other}")).unwrap(), ["Number(1)", "Number(1)"]);
        assert_eq!(read(&format!("{other}, {other}")).unwrap_err(), "pods[1]: another pod is named 't/q' already");
    }

    #[test]
    fn cases_may_end_with_yml_and_only_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.yml"), "description: d\nexpect: {}").unwrap();
        std::fs::write(directory.path().join(".b.yml"), "no case").unwrap();
        assert_eq!(cases(directory.path()).unwrap().len(), 1);
        std::fs::create_dir(directory.path().join("c.yaml")).unwrap();
        let error = cases(directory.path()).unwrap_err().to_string();
        assert!(error.ends_with("c.yaml: is no regular file: expected a case in YAML"), "{error}");
        std::fs::remove_dir(directory.path().join("c.yaml")).unwrap();
        std::fs::write(directory.path().join("c.yaml"), vec![b'#'; MAX_BYTES as usize + 1]).unwrap();
        let error = cases(directory.path()).unwrap_err().to_string();
        assert!(error.contains("is larger than"), "{error}");
    }

    #[test]
    fn settings_of_the_sidecar_stand_in_for_absent_ones_only() {
        let settings: Arc<str> = "{\"a\":1}".into();
        let of = |yaml: &str| {
            let case = Case::from_yaml("a.yaml", &format!("description: d\nexpect: {{}}\n{yaml}")).unwrap();
            case.with_default_settings(&settings).settings.to_string()
        };
        assert_eq!([of(""), of("settings:"), of("settings: {b: 2}")], ["{\"a\":1}", "null", "{\"b\":2}"]);
    }
}
