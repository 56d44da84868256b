//! The report for CI systems, as suites of JUnit.

use std::time::Duration;

use super::{CaseOutcome, CaseReport, PolicyReport, Skipped, TestReport};
use crate::render::junit::{TestCase, TestOutcome, TestSuite};

// === impl TestReport ===

impl TestReport {
    pub(in super::super) fn as_suites(&self) -> Vec<TestSuite> {
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
}

// === impl PolicyReport ===

impl PolicyReport {
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
