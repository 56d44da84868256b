//! The report for people.

use plimsoll_cases::{Difference, Explained};
use plimsoll_core::Verb;

use super::{CaseOutcome, CaseReport, PolicyReport, Skipped, TestReport};
use crate::{
    render::explanation,
    text::{count, push_line},
};

/// Maximum differences of one case that are printed as text, and that are explained.
pub(in super::super) const MAX_SHOWN: usize = 20;

// === impl TestReport ===

impl TestReport {
    pub(in super::super) fn as_text(&self) -> String {
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
}

// === impl Skipped ===

impl Skipped {
    pub(in super::super) fn as_line(&self) -> String {
        format!("{}: skipped, {}", self.file.display(), self.why)
    }
}

// === impl PolicyReport ===

impl PolicyReport {
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
}

// === impl CaseReport ===

impl CaseReport {
    fn push(&self, text: &mut String) {
        if !self.description.is_empty() {
            push_line(text, format_args!("  {}", self.description));
        }
        self.push_outcome(text);
    }

    pub(super) fn push_outcome(&self, text: &mut String) {
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
