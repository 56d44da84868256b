//! The report of `plimsoll conformance`: as text, and as JSON.

use std::{path::Path, time::Duration};

use plimsoll_conformance::{Case, Mismatch, Outcome};
use plimsoll_core::excerpt;
use serde_json::{Value, json};

use crate::text::{count, micros, push_line};

/// Maximum lines of one answer that are shown, and bytes of each: a module may answer with kilobytes.
const MAX_LINES: usize = 8;
const MAX_LINE_BYTES: usize = 300;

/// The report on one module.
pub(super) struct ConformanceReport {
    file: String,
    /// Why the module is refused.
    refusal: Option<String>,
    cases: Vec<CaseReport>,
}

/// The report on one case.
pub(super) struct CaseReport {
    pub(super) case: &'static Case,
    pub(super) end: CaseEnd,
    pub(super) took: Duration,
}

/// The end of a case.
pub(super) enum CaseEnd {
    Run(Outcome),
    NotRun(String),
}

// === impl ConformanceReport ===

impl ConformanceReport {
    pub(super) fn new(file: &Path, cases: Vec<CaseReport>) -> Self {
        Self { file: file.display().to_string(), refusal: None, cases }
    }

    pub(super) fn refused(file: &Path, why: String) -> Self {
        Self { file: file.display().to_string(), refusal: Some(why), cases: vec![] }
    }

    pub(super) fn is_passed(&self) -> bool {
        self.refusal.is_none() && self.failed() == 0
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        if let Some(why) = &self.refusal {
            push_line(&mut text, format_args!("{}: REFUSED, {why}", self.file));
            return text;
        }
        let width = self.cases.iter().map(|report| report.case.name.len()).max().unwrap_or_default();
        for report in &self.cases {
            report.push(&mut text, width);
        }
        let (cases, failed) = (count(self.cases.len(), "case"), self.failed());
        let passed = self.cases.len() - failed;
        push_line(&mut text, format_args!("{}: {cases}: {passed} passed, {failed} failed", self.file));
        text
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "file": self.file,
            "error": self.refusal,
            "cases": self.cases.iter().map(CaseReport::as_json).collect::<Vec<_>>(),
            "passed": self.cases.len() - self.failed(),
            "failed": self.failed(),
        })
    }

    fn failed(&self) -> usize {
        self.cases.iter().filter(|report| !report.end.is_passed()).count()
    }
}

// === impl CaseReport ===

impl CaseReport {
    fn push(&self, text: &mut String, width: usize) {
        let Case { name, verb, .. } = self.case;
        match &self.end {
            CaseEnd::Run(Outcome::Passed) => push_line(text, format_args!("ok       {name:<width$}  {verb}")),
            CaseEnd::NotRun(why) => push_line(text, format_args!("NOT RUN  {name:<width$}  {verb}: {why}")),
            CaseEnd::Run(Outcome::Failed(mismatch)) => {
                let node = mismatch.node.as_ref().map_or_else(String::new, |node| format!(" of {node}"));
                push_line(text, format_args!("FAILED   {name:<width$}  {verb}{node}"));
                for (expected, answered) in differing_lines(mismatch) {
                    push_line(text, format_args!("           expected  {}", shown(expected)));
                    push_line(text, format_args!("           answered  {}", shown(answered)));
                }
            }
        }
    }

    fn as_json(&self) -> Value {
        let mut json = json!({
            "name": self.case.name,
            "verb": self.case.verb.as_str(),
            "passed": self.end.is_passed(),
            "microseconds": micros(self.took),
            "error": null,
        });
        match &self.end {
            CaseEnd::Run(Outcome::Passed) => {}
            CaseEnd::NotRun(why) => json["error"] = why.as_str().into(),
            CaseEnd::Run(Outcome::Failed(Mismatch { node, expected, answered, .. })) => {
                json["node"] = node.as_deref().into();
                json["expected"] = expected.as_str().into();
                json["answered"] = answered.as_str().into();
            }
        }
        json
    }
}

// === impl CaseEnd ===

impl CaseEnd {
    const fn is_passed(&self) -> bool {
        matches!(self, Self::Run(Outcome::Passed))
    }
}

/// The lines that differ, each with the one in its place: of fifteen reads, one may be wrong.
fn differing_lines(mismatch: &Mismatch) -> Vec<(Option<&str>, Option<&str>)> {
    let (mut expected, mut answered) = (mismatch.expected.lines(), mismatch.answered.lines());
    let pairs = std::iter::from_fn(|| match (expected.next(), answered.next()) {
        (None, None) => None,
        pair => Some(pair),
    });
    pairs.filter(|(expected, answered)| expected != answered).take(MAX_LINES).collect()
}

fn shown(line: Option<&str>) -> String {
    line.map_or_else(|| "nothing more".to_owned(), |line| excerpt(line, MAX_LINE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_answer_of_many_lines_only_those_that_differ_are_shown() {
        let mismatch = |expected: &str, answered: &str| Mismatch {
            node: None,
            expected: expected.to_owned(),
            answered: answered.to_owned(),
            is_timeout: false,
        };
        let found = mismatch("unschedulable: a=1\nb=2\nc=3", "unschedulable: a=1\nb=-");
        assert_eq!(differing_lines(&found), [(Some("b=2"), Some("b=-")), (Some("c=3"), None)]);
        let many = mismatch("a", &"b\n".repeat(1000));
        assert_eq!(differing_lines(&many).len(), MAX_LINES);
    }
}
