//! `plimsoll check`: describes a policy file, or says why it is refused.

mod imports;
mod purity;
mod target;
mod trial;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Result;
use plimsoll_core::{Fault, Member, OwnFacts, PolicyConfig, Verb};
use plimsoll_directory::{FactPool, PolicyFiles};
use plimsoll_wasm::{Inspection, WasmLoader};
use serde_json::{Value, json};

use crate::{
    args::{CheckArgs, ReportFormat},
    counting::counts,
    engine, output,
    render::junit::{self, TestCase, TestOutcome, TestSuite},
    text,
};

use purity::Purity;
use target::{Target, targets};
use trial::{CallTime, Callee};

/// The remark about a filter that may count pods.
const LIMITS: &str = "the filter may count pods: its limits are exact for pods that plimsoll binds (bindVerb), and can be passed by others";

/// The report on one policy.
struct CheckReport {
    file: PathBuf,
    sidecar: Option<PathBuf>,
    inspection: Inspection,
    /// Why it was not called, if it could not be.
    not_called: Option<String>,
    calls: Vec<(Verb, Result<CallTime, Fault>)>,
    /// By verb; none unless `--purity` is given and the policy was called.
    purity: Option<Vec<Purity>>,
    /// Kept to the end, so that they count for the limits of the whole directory.
    _facts: OwnFacts,
}

/// A policy with its report, or an ignored file.
struct CheckedPolicy {
    target: Target,
    report: Result<CheckReport>,
    /// Whether a note counts as a refusal.
    is_strict: bool,
}

pub(super) fn check(args: &CheckArgs) -> Result<ExitCode> {
    let loader = engine::loader_of_command(&args.engine)?;
    let all: Vec<CheckedPolicy> = targets(&args.files)
        .into_iter()
        .map(|mut target| {
            let files = std::mem::replace(&mut target.files, Ok(PolicyFiles { module: PathBuf::new(), sidecar: None }));
            let report = files.and_then(|files| inspect(files, &target.facts, &loader, args.purity));
            CheckedPolicy { target, report, is_strict: args.strict }
        })
        .collect();
    match args.output {
        ReportFormat::Text => all.iter().try_for_each(|checked| output::print(&checked.as_text()))?,
        ReportFormat::Json => {
            let all: Vec<Value> = all.iter().map(CheckedPolicy::as_json).collect();
            output::print(&format!("{:#}\n", Value::Array(all)))?;
        }
        ReportFormat::Junit => output::print(&junit::document(&[as_suite(&all)]))?,
    }
    let refused = all.iter().any(|checked| checked.refusal().is_some());
    Ok(if refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn inspect(
    PolicyFiles { module, sidecar }: PolicyFiles,
    facts: &FactPool,
    loader: &WasmLoader,
    purity: bool,
) -> Result<CheckReport> {
    let bytes = plimsoll_directory::module_bytes(&module)?;
    let mut inspection = loader.inspect_named(&module.display().to_string(), &bytes)?;
    let (callee, own_facts) = match &sidecar {
        None => (Callee::alone(inspection.policy.clone()), OwnFacts::from([])),
        Some(path) => {
            let member = plimsoll_directory::load_one(&module, Some(path), loader, facts)?;
            (Callee::of(&member), member.own_facts)
        }
    };
    // The sidecar of a program names its verbs, and any may say that the filter counts no pods.
    inspection.verbs = callee.policy.verbs();
    inspection.policy = Arc::clone(&callee.policy);
    let mut report = CheckReport {
        file: module,
        sidecar,
        inspection,
        not_called: None,
        calls: vec![],
        purity: None,
        _facts: own_facts,
    };
    match callee.validate() {
        Err(fault) => report.calls.push((Verb::Validate, Err(fault))),
        // With a sidecar it was refused above.
        Ok(Err(why)) => report.not_called = Some(format!("it needs settings, and has no sidecar: {why}")),
        Ok(Ok(())) => {
            report.calls = callee.call_times();
            report.calls.extend(callee.trial_faults().into_iter().map(|(verb, fault)| (verb, Err(fault))));
            report.purity = purity.then(|| Purity::of(&callee));
        }
    }
    Ok(report)
}

// === impl CheckedPolicy ===

impl CheckedPolicy {
    /// Why it is refused, in one line; `None` if it is accepted.
    fn refusal(&self) -> Option<String> {
        match &self.report {
            Err(_) if self.target.is_ignored && !self.is_strict => None,
            Err(error) => Some(without_name(&format!("{error:#}"), &self.target.name)),
            Ok(report) => report.refusal().or_else(|| report.not_called.clone().filter(|_| self.is_strict)),
        }
    }

    fn as_text(&self) -> String {
        let verdict = match (self.refusal(), &self.report) {
            (Some(why), _) => format!("REFUSED, {why}"),
            (None, Err(why)) => format!("ignored: {why}"),
            (None, Ok(CheckReport { not_called: Some(note), .. })) => format!("accepted, but not tried: {note}"),
            (None, Ok(_)) => "accepted".to_owned(),
        };
        let mut text = String::new();
        text::push_line(&mut text, format_args!("{}: {verdict}", self.target.name));
        let lines = match &self.report {
            Ok(report) if self.target.is_listed => report.purity_lines(),
            Ok(report) => report.lines(),
            Err(_) => vec![],
        };
        for (key, value) in lines {
            text::push_line(&mut text, format_args!("  {key:<9}{value}"));
        }
        text
    }

    fn as_json(&self) -> Value {
        let (name, refusal) = (&self.target.name, self.refusal());
        let report = match &self.report {
            Ok(report) => report,
            Err(error) => {
                return json!({
                    "name": name,
                    "file": name,
                    "accepted": false,
                    "ignored": self.target.is_ignored,
                    "error": format!("{error:#}"),
                });
            }
        };
        let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
        let call = |(verb, time): &(Verb, Result<CallTime, Fault>)| match time {
            Ok(time) => {
                json!({"verb": verb.as_str(), "firstMicroseconds": micros(time.first), "nodeMicroseconds": time.further.map(micros)})
            }
            Err(fault) => json!({"verb": verb.as_str(), "fault": fault.kind.as_str(), "detail": fault.detail}),
        };
        let inspection = &report.inspection;
        json!({
            "name": name,
            "file": report.file.display().to_string(),
            "accepted": refusal.is_none(),
            "error": refusal,
            "note": report.not_called,
            "verbs": inspection.verbs.iter().map(Verb::as_str).collect::<Vec<_>>(),
            "imports": inspection.imports,
            "wasi": imports::as_json(inspection),
            "counts": report.counts(),
            "lifted": inspection.lifted,
            "stdio": inspection.policy.program().is_some(),
            "size": inspection.size,
            "digest": inspection.digest,
            "compileMicroseconds": micros(inspection.compiled_in),
            "fromCache": inspection.from_cache,
            "sidecar": report.sidecar.as_ref().map(|sidecar| sidecar.display().to_string()),
            "purity": report.purity.iter().flatten().map(Purity::as_json).collect::<Vec<_>>(),
            "calls": report.calls.iter().map(call).collect::<Vec<_>>(),
        })
    }
}

// === impl CheckReport ===

impl CheckReport {
    fn refusal(&self) -> Option<String> {
        let fault = self.calls.iter().find_map(|(verb, time)| Some((verb, time.as_ref().err()?)));
        let fault = fault.map(|(verb, fault)| format!("it fails to {verb} on a sample node: {fault}"));
        let differs = self.purity.iter().flatten().find(|purity| purity.differs());
        fault.or_else(|| {
            differs.map(|purity| format!("its answers depend on what was asked before: {}", purity.as_text()))
        })
    }

    /// Whether its filter may count pods.
    fn counts(&self) -> bool {
        let member = Member::new("", "", PolicyConfig::default(), Arc::clone(&self.inspection.policy));
        counts(&member)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let inspection = &self.inspection;
        let kind = match (inspection.policy.program(), inspection.lifted) {
            (Some(_), _) => "stdio command, lifted to a component",
            (None, true) => "core module, lifted to a component",
            (None, false) => "component",
        };
        let cached = if inspection.from_cache { " (from the cache)" } else { "" };
        let mut lines = vec![
            ("verbs", join(inspection.verbs.iter().map(Verb::as_str))),
            ("imports", imports::of_contract(inspection)),
            ("kind", kind.to_owned()),
            ("size", text::size(inspection.size)),
            ("digest", inspection.digest.clone()),
            ("compile", format!("{}{cached}", text::duration(inspection.compiled_in))),
        ];
        lines.splice(2..2, imports::of_wasi(inspection).into_iter().map(|line| ("wasi", line)));
        if self.counts() {
            lines.push(("limits", LIMITS.to_owned()));
        }
        if let Some(sidecar) = &self.sidecar {
            lines.push(("sidecar", sidecar.display().to_string()));
        }
        for (verb, time) in &self.calls {
            lines.push(("call", format!("{verb}: {}", call_text(time))));
        }
        lines.extend(self.purity_lines());
        lines
    }

    /// None unless `--purity` is given.
    fn purity_lines(&self) -> Vec<(&'static str, String)> {
        match &self.purity {
            None => vec![],
            Some(none) if none.is_empty() => {
                vec![("purity", "nothing to compare: it has neither filter, score nor rank".to_owned())]
            }
            Some(all) => all.iter().map(|purity| ("purity", purity.as_text())).collect(),
        }
    }
}

/// The policies as tests that pass or fail.
fn as_suite(all: &[CheckedPolicy]) -> TestSuite {
    let case = |checked: &CheckedPolicy| {
        let outcome = match (checked.refusal(), &checked.report) {
            (Some(why), _) => TestOutcome::Failure(why),
            (None, Err(why)) => TestOutcome::Skipped(format!("ignored: {why}")),
            (None, Ok(report)) => {
                report.not_called.as_ref().map_or(TestOutcome::Passed, |note| TestOutcome::Skipped(note.clone()))
            }
        };
        let file = checked.report.as_ref().ok().map(|report| report.file.display().to_string());
        TestCase { name: checked.target.name.clone(), file, took: Duration::ZERO, outcome }
    };
    TestSuite { name: "plimsoll check".to_owned(), cases: all.iter().map(case).collect() }
}

/// The error of a file without its name, which the line begins with already.
fn without_name(error: &str, name: &str) -> String {
    match error.strip_prefix(name).map(|rest| (rest.strip_prefix(": "), rest.strip_prefix(' '))) {
        Some((Some(rest), _)) => rest.to_owned(),
        Some((None, Some(rest))) => format!("it {rest}"),
        _ => error.to_owned(),
    }
}

fn call_text(time: &Result<CallTime, Fault>) -> String {
    match time {
        Ok(CallTime { first, further: Some(further) }) => format!(
            "{} for a fresh instance and a node, {} for each further node",
            text::duration(*first),
            text::duration(*further)
        ),
        Ok(CallTime { first, further: None }) => {
            format!("{} for a fresh instance and its one node", text::duration(*first))
        }
        Err(fault) => format!("FAULT {fault}"),
    }
}

fn join<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let text = texts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}
