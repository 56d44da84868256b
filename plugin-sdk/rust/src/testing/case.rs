//! Cases in YAML: a world, and what the policy is expected to answer.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, Limits, Policy, View};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Expectations, Native, World, WorldError,
    expect::{compare, preemption},
    world::Proposed,
};
use crate::__private::Exported;

/// One file of a `cases` directory.
///
/// ```yaml
/// description: pods of team-a stay in their pool
/// settings: {pools: {team-a: pool-a}}
/// now: 2026-01-31T12:00:00Z                        # or Unix seconds; absent: 0
/// pod: {metadata: {name: a, namespace: team-a}}    # as `kubectl get -o yaml` prints it
/// nodes:
/// - metadata: {name: node-1, labels: {example.com/pool: pool-a}}
/// - metadata: {name: node-2}
/// pods:                                            # placed: each names its node
/// - {metadata: {name: b, namespace: web}, spec: {nodeName: node-1}}
/// candidates:                                      # for preempt
/// - {node: node-1, victims: [web/b], pdbViolations: 0}
/// expect:
///   filter: {node-1: fits, node-2: {unresolvable: "node is outside the namespace's pool"}}
///   preempt: {node-1: keep}                        # or {reject: reason}, {replace: [web/b]}
///   bind: {node-1: {annotations: {example.com/device: "0"}}, node-2: {refused: no device is left}}
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
}

/// Why a case failed or could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file or directory cannot be read, is no case, or names what is not there.
    #[error("{path}: {error}", path = .path.display())]
    Unusable {
        /// The file or directory.
        path: PathBuf,
        /// The error, with its place.
        error: String,
    },
    /// The call ended with a fault.
    #[error("{path} ({description}): {fault}", path = .path.display())]
    Fault {
        /// The file.
        path: PathBuf,
        /// The description of the case.
        description: String,
        /// How the call ended.
        fault: Fault,
    },
    /// The policy answers something else.
    #[error("{path} ({description}):\n  {}", .differences.join("\n  "), path = .path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// The description of the case.
        description: String,
        /// In what.
        differences: Vec<String>,
    },
    /// A directory without cases tests nothing.
    #[error("{path} has no *.yaml or *.yml", path = .0.display())]
    Empty(PathBuf),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseYaml {
    description: String,
    #[serde(default)]
    settings: Value,
    #[serde(default)]
    now: Time,
    #[serde(default = "nameless")]
    pod: Value,
    #[serde(default)]
    nodes: Vec<Value>,
    #[serde(default)]
    pods: Vec<Value>,
    #[serde(default)]
    candidates: Vec<Proposed>,
    expect: Expectations,
}

/// Unix seconds.
#[derive(Default, Deserialize)]
#[serde(try_from = "TimeYaml")]
struct Time(u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum TimeYaml {
    Seconds(u64),
    Text(String),
}

/// Reads every `*.yaml` and `*.yml` of a directory, by name.
///
/// # Errors
/// If there is none, or one is no case.
pub fn cases(directory: impl AsRef<Path>) -> Result<Vec<Case>, CaseError> {
    let directory = directory.as_ref();
    let unread = |error: io::Error| CaseError::unusable(directory, &error);
    let mut paths = vec![];
    for entry in directory.read_dir().map_err(unread)? {
        paths.push(entry.map_err(unread)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    paths.sort();
    if paths.is_empty() {
        return Err(CaseError::Empty(directory.to_owned()));
    }
    paths.iter().map(|path| Case::read(path)).collect()
}

/// Runs every case of a directory, relative to the package, natively.
///
/// # Panics
/// With all that differs, if anything does.
pub fn run_cases<P: Exported>(directory: impl AsRef<Path>) {
    let cases = cases(directory).unwrap_or_else(|error| panic!("{error}"));
    let failed: Vec<String> =
        cases.iter().filter_map(|case| case.check(&Native::<P>::new()).err()).map(|error| error.to_string()).collect();
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

// === impl CaseError ===

impl CaseError {
    fn unusable(path: &Path, error: &impl fmt::Display) -> Self {
        Self::Unusable { path: path.to_owned(), error: error.to_string() }
    }
}

// === impl Case ===

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is no case.
    pub fn read(path: &Path) -> Result<Self, CaseError> {
        let yaml = std::fs::read_to_string(path).map_err(|error| CaseError::unusable(path, &error))?;
        Self::from_yaml(path, &yaml)
    }

    /// Reads a case from its text; the path is for messages.
    ///
    /// # Errors
    /// If it is no case, with line and what was expected.
    pub fn from_yaml(path: impl Into<PathBuf>, yaml: &str) -> Result<Self, CaseError> {
        let path = path.into();
        match serde_saphyr::from_str::<CaseYaml>(yaml) {
            Ok(read) => Ok(Self::new(path, read)),
            Err(error) => Err(CaseError::unusable(&path, &error)),
        }
    }

    /// Asks a policy, native or compiled, and compares.
    ///
    /// # Errors
    /// With all that differs.
    pub fn check(&self, policy: &dyn Policy) -> Result<(), CaseError> {
        let differences = self.differences(policy)?;
        if differences.is_empty() {
            return Ok(());
        }
        Err(CaseError::Differs { path: self.path.clone(), description: self.description.clone(), differences })
    }

    fn new(path: PathBuf, read: CaseYaml) -> Self {
        let CaseYaml { description, settings, now: Time(now), pod, nodes, pods, candidates, expect } = read;
        let world = World { pod, nodes, pods, candidates, now, without_cluster: false };
        Self { path, description, settings: settings.to_string().into(), world, expect }
    }

    fn differences(&self, policy: &dyn Policy) -> Result<Vec<String>, CaseError> {
        let fault = |fault| CaseError::Fault { path: self.path.clone(), description: self.description.clone(), fault };
        let world = |error: WorldError| CaseError::unusable(&self.path, &error);
        let refused = policy.validate(&self.ask(View::empty(Arc::default()))).map_err(fault)?.err();
        if refused != self.expect.refused {
            let said = |refused: &Option<String>| match refused {
                Some(why) => format!("refused with `{why}`"),
                None => "accepted".to_owned(),
            };
            return Ok(vec![format!("settings: expected {}, was {}", said(&self.expect.refused), said(&refused))]);
        }
        let mut differences = vec![];
        let ask = self.ask(self.world.view().map_err(world)?);
        let nodes: Vec<u32> = (0..ask.view.node_count() as u32).collect();
        if let Some(expected) = &self.expect.filter {
            let answers = policy.filter(&ask, &nodes).map_err(fault)?.into_iter().map(Into::into).collect();
            differences.extend(compare("filter", &ask.view, expected, answers));
        }
        if let Some(expected) = &self.expect.score {
            let answers = policy.score(&ask, &nodes).map_err(fault)?;
            differences.extend(compare("score", &ask.view, expected, answers));
        }
        if let Some(expected) = &self.expect.rank {
            differences.extend(compare("rank", &ask.view, expected, policy.rank(&ask).map_err(fault)?));
        }
        if let Some(expected) = &self.expect.preempt {
            let ask = self.ask(self.world.preempt_view().map_err(world)?);
            let candidates: Vec<u32> = (0..ask.view.node_count() as u32).collect();
            let answers = policy.preempt(&ask, &candidates).map_err(fault)?;
            let answers = candidates.iter().zip(answers).map(|(at, answer)| preemption(&ask.view, *at, answer));
            differences.extend(compare("preempt", &ask.view, expected, answers.collect()));
        }
        if let Some(expected) = &self.expect.bind {
            let answers = nodes.iter().map(|node| Ok(policy.bind(&ask, *node).map_err(fault)?.into()));
            differences.extend(compare("bind", &ask.view, expected, answers.collect::<Result<_, CaseError>>()?));
        }
        Ok(differences)
    }

    fn ask(&self, view: View) -> Ask {
        let limits = Limits::until(Instant::now() + Duration::from_secs(10), 64 << 20);
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        Ask::new(name.as_ref().into(), Arc::new(view.with_settings(Arc::clone(&self.settings))), limits)
    }
}

/// The pod of a case that has none.
fn nameless() -> Value {
    serde_json::json!({"metadata": {"name": "pod"}})
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Node, Pod, Verdict};

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Full {}

    impl Filter for Full {
        fn filter(&self, _: &Pod, node: &Node) -> Verdict {
            if node.name() == "free" { Verdict::Fits } else { Verdict::unschedulable("node is full") }
        }
    }

    crate::export!(Full: filter);

    fn case(rest: &str) -> Result<Case, CaseError> {
        Case::from_yaml("cases/a.yaml", &format!("description: d\nnodes: [{{metadata: {{name: busy}}}}]\n{rest}"))
    }

    fn failure(rest: &str) -> String {
        case(rest).unwrap().check(&Native::<Full>::new()).unwrap_err().to_string()
    }

    #[test]
    fn a_failed_case_is_told_in_the_words_of_cases() {
        let table = [
            ("expect: {filter: {busy: fits}}", "\n  filter: busy: expected fits, was {unschedulable: node is full}"),
            ("expect: {filter: {}}", "\n  filter: busy: nothing is expected, was {unschedulable: node is full}"),
            ("expect: {score: {busy: 1}}", " the policy has no verb score"),
            ("expect: {refused: no}", "\n  settings: expected refused with `no`, was accepted"),
            (
                "settings: {x: 1}\nexpect: {}",
                "\n  settings: expected accepted, was refused with `there is no field x; expected none`",
            ),
        ];
        for (rest, expected) in table {
            let told = failure(rest);
            assert!(told.starts_with("cases/a.yaml (d):") && told.ends_with(expected), "{rest}: {told}");
            assert!(!told.contains("Fault {") && !told.contains("Some("), "{told}");
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
            let error = case(&format!("expect: {{{expect}}}")).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(found), "{expect}: {error}");
        }
    }

    #[test]
    fn cases_may_end_with_yml() {
        let directory = std::env::temp_dir().join(format!("plimsoll-cases-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("a.yml"), "description: d\nexpect: {}").unwrap();
        let found = cases(&directory).map(|cases| cases.len());
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found.unwrap(), 1);
    }
}
