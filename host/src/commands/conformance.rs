//! `plimsoll conformance`: puts the cases of the conformance suite to a module.

use std::{process::ExitCode, time::Instant};

use anyhow::{Result, bail};
use plimsoll_conformance::{Case, Mismatch, Outcome, cases, page};
use plimsoll_core::{Policy, excerpt};
use serde::Serialize;

use crate::{
    args::{ConformanceArgs, OutputFormat},
    engine, output,
    text::{count, micros, push_line},
};

/// After this many calls that ran out of time without being meant to, the module is not asked any more.
const MAX_TIMEOUTS: usize = 3;

/// Maximum lines of one answer that are shown, and bytes of each: a module may answer with kilobytes.
const MAX_LINES: usize = 8;
const MAX_LINE_BYTES: usize = 300;

/// The report on one module.
#[derive(Default, Serialize)]
struct ConformanceReport {
    file: String,
    /// Why the module is refused.
    error: Option<String>,
    cases: Vec<CaseReport>,
    passed: usize,
    failed: usize,
}

/// The report on one case.
#[derive(Default, Serialize)]
struct CaseReport {
    name: &'static str,
    verb: &'static str,
    passed: bool,
    microseconds: f64,
    /// Why the case was not run.
    error: Option<String>,
    node: Option<String>,
    expected: String,
    answered: String,
}

pub(super) fn conformance(args: &ConformanceArgs) -> Result<ExitCode> {
    let Some(file) = args.file.as_deref().filter(|_| !args.print_spec) else {
        output::print(page::PAGE)?;
        return Ok(ExitCode::SUCCESS);
    };
    let wanted = wanted(args.filter.as_deref())?;
    let loader = engine::loader_of_command(&args.engine, args.output == OutputFormat::Text)?;
    let module = plimsoll_directory::module_at(file)?;
    let file = file.display().to_string();
    let report = match loader.inspect(&file, &module) {
        Err(error) => ConformanceReport { file, error: Some(error.to_string()), ..ConformanceReport::default() },
        Ok(inspection) => {
            let cases = put_all(&wanted, inspection.policy.as_ref());
            let passed = cases.iter().filter(|case| case.passed).count();
            ConformanceReport { file, error: None, failed: cases.len() - passed, cases, passed }
        }
    };
    match args.output {
        OutputFormat::Text => output::print(&report.as_text())?,
        OutputFormat::Json => output::print_json(&report)?,
    }
    let is_passed = report.error.is_none() && report.failed == 0;
    Ok(if is_passed { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The cases to run; none is a mistake of the caller.
fn wanted(filter: Option<&str>) -> Result<Vec<&'static Case>> {
    let has = |case: &&Case| filter.is_none_or(|text| case.name.contains(text) || case.verb.as_str().contains(text));
    let wanted: Vec<&Case> = cases().iter().filter(has).collect();
    match filter {
        Some(filter) if wanted.is_empty() => bail!("no case matches --filter '{filter}'"),
        _ => Ok(wanted),
    }
}

fn put_all(wanted: &[&'static Case], policy: &dyn Policy) -> Vec<CaseReport> {
    let mut timeouts = 0;
    let put = |case: &&'static Case| {
        let report = CaseReport { name: &case.name, verb: case.verb.as_str(), ..CaseReport::default() };
        if timeouts >= MAX_TIMEOUTS {
            let error = format!("the module ran out of time in {MAX_TIMEOUTS} cases before");
            return CaseReport { error: Some(error), ..report };
        }
        let started = Instant::now();
        let outcome = case.put_to(policy);
        let report = CaseReport { microseconds: micros(started.elapsed()), ..report };
        match outcome {
            Outcome::Passed => CaseReport { passed: true, ..report },
            Outcome::Failed(Mismatch { node, expected, answered, is_timeout }) => {
                timeouts += usize::from(is_timeout);
                CaseReport { node, expected, answered, ..report }
            }
        }
    };
    wanted.iter().map(put).collect()
}

// === impl ConformanceReport ===

impl ConformanceReport {
    fn as_text(&self) -> String {
        let mut text = String::new();
        let Self { file, error, cases, passed, failed } = self;
        if let Some(why) = error {
            push_line(&mut text, format_args!("{file}: REFUSED, {why}"));
            return text;
        }
        let width = cases.iter().map(|case| case.name.len()).max().unwrap_or_default();
        for case in cases {
            case.push(&mut text, width);
        }
        let cases = count(cases.len(), "case");
        push_line(&mut text, format_args!("{file}: {cases}: {passed} passed, {failed} failed"));
        text
    }
}

// === impl CaseReport ===

impl CaseReport {
    fn push(&self, text: &mut String, width: usize) {
        let Self { name, verb, .. } = self;
        if let Some(why) = &self.error {
            return push_line(text, format_args!("NOT RUN  {name:<width$}  {verb}: {why}"));
        }
        if self.passed {
            return push_line(text, format_args!("ok       {name:<width$}  {verb}"));
        }
        let node = self.node.as_ref().map_or_else(String::new, |node| format!(" of {node}"));
        push_line(text, format_args!("FAILED   {name:<width$}  {verb}{node}"));
        for (expected, answered) in differing_lines(&self.expected, &self.answered) {
            push_line(text, format_args!("           expected  {}", shown(expected)));
            push_line(text, format_args!("           answered  {}", shown(answered)));
        }
    }
}

/// The lines that differ, each with the one in its place: of fifteen reads, one may be wrong.
fn differing_lines<'l>(expected: &'l str, answered: &'l str) -> Vec<(Option<&'l str>, Option<&'l str>)> {
    let (mut expected, mut answered) = (expected.lines(), answered.lines());
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
        let found = differing_lines("unschedulable: a=1\nb=2\nc=3", "unschedulable: a=1\nb=-");
        assert_eq!(found, [(Some("b=2"), Some("b=-")), (Some("c=3"), None)]);
        assert_eq!(differing_lines("a", &"b\n".repeat(1000)).len(), MAX_LINES);
    }
}
