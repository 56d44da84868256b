//! The report for programs.

use std::path::Path;

use plimsoll_cases::Explained;
use serde_json::{Value, json};

use super::{CaseOutcome, CaseReport, PolicyReport, Skipped, TestReport};
use crate::{render::explanation, text::micros};

// === impl TestReport ===

impl TestReport {
    pub(in super::super) fn as_json(&self) -> Value {
        let failed = self.cases().filter(|case| !case.outcome.is_passed()).count();
        json!({
            "policies": self.policies.iter().map(PolicyReport::as_json).collect::<Vec<_>>(),
            "skipped": self.skipped.iter().map(Skipped::as_json).collect::<Vec<_>>(),
            "passed": self.cases().count() - failed,
            "failed": failed,
        })
    }
}

// === impl Skipped ===

impl Skipped {
    fn as_json(&self) -> Value {
        json!({"file": shown(&self.file), "why": self.why})
    }
}

// === impl PolicyReport ===

impl PolicyReport {
    fn as_json(&self) -> Value {
        json!({
            "name": shown(&self.file),
            "file": self.module.as_deref().map(shown),
            "sidecar": self.sidecar.as_deref().map(shown),
            "error": self.refusal,
            "cases": self.cases.iter().map(CaseReport::as_json).collect::<Vec<_>>(),
        })
    }
}

// === impl CaseReport ===

impl CaseReport {
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
            "microseconds": micros(self.took),
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
}

/// A name in JSON: not all are UTF-8.
fn shown(file: &Path) -> String {
    file.display().to_string()
}
