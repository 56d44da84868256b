//! The report of `plimsoll test`: as text, as JSON, and as JUnit's XML.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use plimsoll_cases::{CaseError, Difference, Explained};
use plimsoll_core::{FaultKind, Verb};
use plimsoll_directory::PolicyFiles;
use serde_json::{Value, json};

use crate::{
    render::{
        explanation,
        junit::{TestCase, TestOutcome, TestSuite},
    },
    text::{count, push_line},
};

/// Maximum differences of one case that are printed as text, and that are explained.
pub(super) const MAX_SHOWN: usize = 20;

/// All policies that were tested, and the files that were not.
pub(super) struct TestReport {
    pub(super) policies: Vec<PolicyReport>,
    pub(super) skipped: Vec<Skipped>,
}

/// A policy without cases, cases without a policy, or a file that only looks like a case.
#[derive(Debug, Clone)]
pub(super) struct Skipped {
    pub(super) file: PathBuf,
    pub(super) why: String,
}

/// The report on one policy.
pub(super) struct PolicyReport {
    file: PathBuf,
    module: Option<PathBuf>,
    sidecar: Option<PathBuf>,
    /// Why it is refused.
    refusal: Option<String>,
    cases: Vec<CaseReport>,
}

/// The report on one case.
pub(super) struct CaseReport {
    pub(super) file: PathBuf,
    pub(super) description: String,
    pub(super) outcome: CaseOutcome,
    pub(super) took: Duration,
}

pub(super) enum CaseOutcome {
    Passed,
    Differs(Vec<Explained>),
    /// The policy failed.
    Fault {
        verb: Verb,
        kind: FaultKind,
        detail: String,
    },
    /// It is no case, or was not run.
    Error {
        line: Option<u64>,
        error: String,
    },
}

// === impl TestReport ===

impl TestReport {
    /// Whether nothing was tested.
    pub(super) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    pub(super) fn is_passed(&self, strict: bool) -> bool {
        (!strict || self.skipped.is_empty()) && self.policies.iter().all(PolicyReport::is_passed)
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        for policy in &self.policies {
            policy.push(&mut text);
        }
        for skipped in &self.skipped {
            push_line(&mut text, skipped.as_line());
        }
        let (cases, failed) = (self.cases().count(), self.cases().filter(|case| !case.outcome.is_passed()).count());
        let refused = self.policies.iter().filter(|policy| policy.refusal.is_some()).count();
        let refused = if refused > 0 { format!(", {refused} refused") } else { String::new() };
        let skipped = if self.skipped.is_empty() { String::new() } else { format!("; {} skipped", self.skipped.len()) };
        let policies = match self.policies.len() {
            1 => "1 policy".to_owned(),
            several => format!("{several} policies"),
        };
        let (passed, cases) = (cases - failed, count(cases, "case"));
        push_line(&mut text, format_args!("{policies}{refused}, {cases}: {passed} passed, {failed} failed{skipped}"));
        text
    }

    pub(super) fn as_json(&self) -> Value {
        let failed = self.cases().filter(|case| !case.outcome.is_passed()).count();
        json!({
            "policies": self.policies.iter().map(PolicyReport::as_json).collect::<Vec<_>>(),
            "skipped": self.skipped.iter().map(Skipped::as_json).collect::<Vec<_>>(),
            "passed": self.cases().count() - failed,
            "failed": failed,
        })
    }

    pub(super) fn as_suites(&self) -> Vec<TestSuite> {
        let skipped = |Skipped { file, why }: &Skipped| TestSuite {
            name: file.display().to_string(),
            cases: vec![TestCase {
                name: "cases".to_owned(),
                file: None,
                took: Duration::ZERO,
                outcome: TestOutcome::Skipped(why.clone()),
            }],
        };
        self.policies.iter().map(PolicyReport::as_suite).chain(self.skipped.iter().map(skipped)).collect()
    }

    fn cases(&self) -> impl Iterator<Item = &CaseReport> {
        self.policies.iter().flat_map(|policy| &policy.cases)
    }
}

// === impl Skipped ===

impl Skipped {
    pub(super) fn as_line(&self) -> String {
        format!("{}: skipped, {}", self.file.display(), self.why)
    }

    fn as_json(&self) -> Value {
        json!({"file": shown(&self.file), "why": self.why})
    }
}

// === impl PolicyReport ===

impl PolicyReport {
    /// The report on a policy that has the name of this file.
    pub(super) fn new(file: &Path, files: Option<&PolicyFiles>, cases: Vec<CaseReport>) -> Self {
        let (module, sidecar) = files.map(|files| (files.module.clone(), files.sidecar.clone())).unzip();
        Self { file: file.to_owned(), module, sidecar: sidecar.flatten(), refusal: None, cases }
    }

    pub(super) fn refused(file: &Path, files: Option<&PolicyFiles>, why: String) -> Self {
        Self { refusal: Some(why), ..Self::new(file, files, vec![]) }
    }

    fn is_passed(&self) -> bool {
        self.refusal.is_none() && self.cases.iter().all(|case| case.outcome.is_passed())
    }

    fn push(&self, text: &mut String) {
        let (name, cases) = (self.file.display(), count(self.cases.len(), "case"));
        let failed_cases: Vec<&CaseReport> = self.cases.iter().filter(|case| !case.outcome.is_passed()).collect();
        match (&self.refusal, failed_cases.len()) {
            (Some(why), _) => push_line(text, format_args!("{name}: REFUSED, {why}")),
            (None, 0) => push_line(text, format_args!("{name}: {cases} passed")),
            (None, failed) => push_line(text, format_args!("{name}: FAILED, {failed} of {cases}")),
        }
        for case in failed_cases {
            case.push(text);
        }
    }

    fn as_json(&self) -> Value {
        json!({
            "name": shown(&self.file),
            "file": self.module.as_deref().map(shown),
            "sidecar": self.sidecar.as_deref().map(shown),
            "error": self.refusal,
            "cases": self.cases.iter().map(CaseReport::as_json).collect::<Vec<_>>(),
        })
    }

    fn as_suite(&self) -> TestSuite {
        let mut cases: Vec<TestCase> = self.cases.iter().map(CaseReport::as_test).collect();
        if let Some(why) = &self.refusal {
            let outcome = TestOutcome::Error(why.clone());
            cases.push(TestCase { name: "loads".to_owned(), file: None, took: Duration::ZERO, outcome });
        }
        TestSuite { name: self.file.display().to_string(), cases }
    }
}

// === impl CaseReport ===

impl CaseReport {
    fn push(&self, text: &mut String) {
        if !self.description.is_empty() {
            push_line(text, format_args!("  {}", self.description));
        }
        self.push_outcome(text);
    }

    fn push_outcome(&self, text: &mut String) {
        let file = self.file.display();
        match &self.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Error { line, error } => {
                push_line(text, format_args!("    {file}{}: {error}", after(*line)));
            }
            CaseOutcome::Fault { verb, kind, detail } => {
                push_line(text, format_args!("    {file}: {verb} failed: {kind}: {detail}"));
            }
            CaseOutcome::Differs(differences) => {
                for Explained { difference, reads } in differences.iter().take(MAX_SHOWN) {
                    push_line(text, format_args!("    {file}{}: {}", after(difference.line), about(difference)));
                    let expected = difference.expected.as_deref().unwrap_or("nothing: the case does not name the node");
                    push_line(text, format_args!("      expected  {expected}"));
                    push_line(text, format_args!("      answered  {}", difference.answered));
                    let width = reads.iter().map(|line| line.read.len()).max().unwrap_or_default();
                    for line in reads {
                        push_line(text, format_args!("      read      {}", explanation::read_text(line, width)));
                    }
                }
                if let Some(more) = differences.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
                    push_line(text, format_args!("    {file}: and {} more", count(more, "difference")));
                }
            }
        }
    }

    fn as_json(&self) -> Value {
        let difference = |Explained { difference, reads }: &Explained| {
            json!({
                "verb": difference.verb.as_str(),
                "node": difference.node,
                "line": difference.line,
                "expected": difference.expected,
                "answered": difference.answered,
                "reads": reads.iter().map(explanation::read_json).collect::<Vec<_>>(),
            })
        };
        let mut json = json!({
            "file": shown(&self.file),
            "description": self.description,
            "passed": self.outcome.is_passed(),
            "microseconds": self.took.as_secs_f64() * 1e6,
            "differences": [],
            "error": null,
        });
        match &self.outcome {
            CaseOutcome::Passed => {}
            CaseOutcome::Differs(all) => json["differences"] = all.iter().map(difference).collect(),
            CaseOutcome::Fault { verb, kind, detail } => {
                json["error"] = format!("{verb} failed: {kind}: {detail}").into();
                json["verb"] = verb.as_str().into();
                json["fault"] = kind.as_str().into();
                json["detail"] = detail.as_str().into();
            }
            CaseOutcome::Error { line, error } => {
                json["error"] = error.as_str().into();
                json["line"] = (*line).into();
            }
        }
        json
    }

    fn as_test(&self) -> TestCase {
        let mut text = String::new();
        if let CaseOutcome::Differs(differences) = &self.outcome {
            text.extend(differences.first().map(|first| format!("{}\n", first.difference)));
        }
        self.push_outcome(&mut text);
        let outcome = match &self.outcome {
            CaseOutcome::Passed => TestOutcome::Passed,
            CaseOutcome::Error { .. } => TestOutcome::Error(text),
            CaseOutcome::Fault { .. } | CaseOutcome::Differs(_) => TestOutcome::Failure(text),
        };
        let stem = self.file.file_stem().unwrap_or_default().display();
        let name = if self.description.is_empty() { stem.to_string() } else { format!("{stem}: {}", self.description) };
        TestCase { name, file: Some(self.file.display().to_string()), took: self.took, outcome }
    }
}

// === impl CaseOutcome ===

impl CaseOutcome {
    /// The outcome of a case that is invalid, or whose policy failed.
    pub(super) fn of_error(error: CaseError) -> Self {
        match error {
            CaseError::Fault { verb, fault, .. } => Self::Fault { verb, kind: fault.kind, detail: fault.detail },
            CaseError::Unusable { line, error, .. } => Self::Error { line, error },
            other => Self::Error { line: None, error: other.to_string() },
        }
    }

    pub(super) fn is_timeout(&self) -> bool {
        matches!(self, Self::Fault { kind: FaultKind::Timeout, .. })
    }

    fn is_passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}

/// A name in JSON: not all are UTF-8.
fn shown(file: &Path) -> String {
    file.display().to_string()
}

/// The line of a file, behind its name.
fn after(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

/// `filter of node-1`.
fn about(Difference { verb, node, .. }: &Difference) -> String {
    match (verb, node) {
        (Verb::Validate, _) => "the settings".to_owned(),
        (verb, None) => verb.to_string(),
        (verb, Some(node)) => format!("{verb} of {node}"),
    }
}
