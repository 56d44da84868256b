//! The report of `plimsoll test`: JSON for programs, text for people.

use std::{path::Path, time::Duration};

use plimsoll_cases::{CaseError, Difference, Explained};
use plimsoll_core::{FaultKind, Verb};
use plimsoll_directory::PolicyFiles;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::{
    render::explanation,
    text::{count, micros, push_line},
};

/// Maximum differences of one case that are printed as text, and that are explained.
pub(super) const MAX_SHOWN: usize = 20;

/// All policies that were tested, and the files that were not.
#[derive(Serialize)]
pub(super) struct TestReport {
    pub(super) policies: Vec<PolicyReport>,
    pub(super) skipped: Vec<Skipped>,
    passed: usize,
    failed: usize,
}

/// A policy without cases, or cases without a policy.
#[derive(Clone, Serialize)]
pub(super) struct Skipped {
    pub(super) file: String,
    pub(super) why: String,
}

/// The report on one policy.
#[derive(Serialize)]
pub(super) struct PolicyReport {
    name: String,
    file: Option<String>,
    sidecar: Option<String>,
    /// Why it is refused.
    error: Option<String>,
    cases: Vec<CaseReport>,
}

/// The report on one case.
#[derive(Serialize)]
pub(super) struct CaseReport {
    file: String,
    description: String,
    passed: bool,
    microseconds: f64,
    #[serde(serialize_with = "as_json")]
    differences: Vec<Explained>,
    /// How the policy failed, or why the case was not run.
    error: Option<String>,
    line: Option<u64>,
    fault: Option<&'static str>,
}

// === impl TestReport ===

impl TestReport {
    pub(super) fn new(policies: Vec<PolicyReport>, skipped: Vec<Skipped>) -> Self {
        let cases = || policies.iter().flat_map(|policy| &policy.cases);
        let failed = cases().filter(|case| !case.passed).count();
        Self { passed: cases().count() - failed, failed, policies, skipped }
    }

    pub(super) fn is_passed(&self, strict: bool) -> bool {
        let is_refused = self.policies.iter().any(|policy| policy.error.is_some());
        self.failed == 0 && !is_refused && (!strict || self.skipped.is_empty())
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        for policy in &self.policies {
            policy.push(&mut text);
        }
        for skipped in &self.skipped {
            push_line(&mut text, skipped.as_line());
        }
        let Self { policies, skipped, passed, failed } = self;
        let refused = policies.iter().filter(|policy| policy.error.is_some()).count();
        let refused = if refused > 0 { format!(", {refused} refused") } else { String::new() };
        let skipped = if skipped.is_empty() { String::new() } else { format!("; {} skipped", skipped.len()) };
        let policies = if policies.len() == 1 { "1 policy".to_owned() } else { format!("{} policies", policies.len()) };
        let cases = count(passed + failed, "case");
        push_line(&mut text, format_args!("{policies}{refused}, {cases}: {passed} passed, {failed} failed{skipped}"));
        text
    }
}

// === impl Skipped ===

impl Skipped {
    pub(super) fn as_line(&self) -> String {
        format!("{}: skipped, {}", self.file, self.why)
    }
}

// === impl PolicyReport ===

impl PolicyReport {
    /// The report on a policy that has the name of this file.
    pub(super) fn new(file: &Path, files: Option<&PolicyFiles>, cases: Vec<CaseReport>) -> Self {
        let shown = |file: &Path| file.display().to_string();
        let sidecar = files.and_then(|files| files.sidecar.as_deref());
        let module = files.map(|files| shown(files.rule()));
        Self { name: shown(file), file: module, sidecar: sidecar.map(shown), error: None, cases }
    }

    pub(super) fn refused(file: &Path, files: Option<&PolicyFiles>, why: String) -> Self {
        Self { error: Some(why), ..Self::new(file, files, vec![]) }
    }

    fn push(&self, text: &mut String) {
        let (name, cases) = (&self.name, count(self.cases.len(), "case"));
        let failed_cases: Vec<&CaseReport> = self.cases.iter().filter(|case| !case.passed).collect();
        match (&self.error, failed_cases.len()) {
            (Some(why), _) => push_line(text, format_args!("{name}: REFUSED, {why}")),
            (None, 0) => push_line(text, format_args!("{name}: {cases} passed")),
            (None, failed) => push_line(text, format_args!("{name}: FAILED, {failed} of {cases}")),
        }
        for case in failed_cases {
            case.push(text);
        }
    }
}

// === impl CaseReport ===

impl CaseReport {
    pub(super) fn new(
        file: &Path,
        description: String,
        outcome: Result<Vec<Explained>, CaseError>,
        took: Duration,
    ) -> Self {
        let (differences, error, line, fault) = match outcome {
            Ok(differences) => (differences, None, None, None),
            Err(CaseError::Fault { verb, fault, .. }) => {
                let error = format!("{verb} failed: {}: {}", fault.kind, fault.detail);
                (vec![], Some(error), None, Some(fault.kind.as_str()))
            }
            Err(CaseError::Unusable { line, error, .. }) => (vec![], Some(error), line, None),
            Err(other) => (vec![], Some(other.to_string()), None, None),
        };
        let passed = differences.is_empty() && error.is_none();
        let (file, microseconds) = (file.display().to_string(), micros(took));
        Self { file, description, passed, microseconds, differences, error, line, fault }
    }

    pub(super) fn not_run(file: &Path, description: String, why: String) -> Self {
        Self { passed: false, error: Some(why), ..Self::new(file, description, Ok(vec![]), Duration::ZERO) }
    }

    pub(super) fn is_timeout(&self) -> bool {
        self.fault == Some(FaultKind::Timeout.as_str())
    }

    fn push(&self, text: &mut String) {
        let file = &self.file;
        let description = if self.description.is_empty() { "(the case cannot be read)" } else { &self.description };
        push_line(text, format_args!("  {description}"));
        if let Some(error) = &self.error {
            push_line(text, format_args!("    {file}{}: {error}", after(self.line)));
        }
        for Explained { difference, reads } in self.differences.iter().take(MAX_SHOWN) {
            push_line(text, format_args!("    {file}{}: {}", after(difference.line), about(difference)));
            let expected = difference.expected.as_deref().unwrap_or("nothing: the case does not name the node");
            push_line(text, format_args!("      expected  {expected}"));
            push_line(text, format_args!("      answered  {}", difference.answered));
            let width = reads.iter().map(|line| line.read.len()).max().unwrap_or_default();
            for line in reads {
                push_line(text, format_args!("      read      {}", explanation::read_text(line, width)));
            }
        }
        if let Some(more) = self.differences.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            push_line(text, format_args!("    {file}: and {} more", count(more, "difference")));
        }
    }
}

fn as_json<S: Serializer>(differences: &[Explained], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(differences.iter().map(|Explained { difference, reads }| {
        json!({
            "verb": difference.verb.as_str(),
            "node": difference.node,
            "line": difference.line,
            "expected": difference.expected,
            "answered": difference.answered,
            "reads": reads.iter().map(explanation::read_json).collect::<Vec<_>>(),
        })
    }))
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
