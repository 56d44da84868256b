//! `plimsoll check`: describes a policy file, or says why it is refused.

mod purity;
mod report;
mod target;
mod trial;

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use plimsoll_core::{Cluster, Mode, Pod, PolicyConfig, Verb};
use plimsoll_directory::{PolicyFiles, Source};
use plimsoll_wasm::WasmLoader;
use serde_json::{Value, json};

use crate::{
    args::{CheckArgs, OutputFormat},
    engine, output, text,
};

use super::offline::read_cluster;
use purity::Purity;
use report::{CheckReport, Matches};
use target::{Target, targets};
use trial::Callee;

/// What `--strict` says of a policy of a directory that has none.
const NO_SIDECAR: &str = "it has no sidecar: every default holds for every pod, and `serve --require-sidecars` refuses it; `{}` means the defaults";

/// A policy with its report, or an ignored file.
struct CheckedPolicy {
    name: String,
    /// Its module, if it is known.
    file: Option<String>,
    is_listed: bool,
    is_ignored: bool,
    report: Result<CheckReport>,
    /// Whether an ignored file, a policy that was not called, or what has no effect counts as refused.
    is_strict: bool,
    /// Why its weight has no effect.
    without_effect: Option<String>,
}

pub(super) fn check(args: &CheckArgs) -> Result<ExitCode> {
    let loader = engine::loader_of_command(&args.engine, args.output == OutputFormat::Text)?;
    let cluster = args.cluster.is_named().then(|| read_cluster(&args.cluster, true)).transpose()?;
    let (cluster, origin) = cluster.map(|(cluster, waiting, (origin, _))| ((cluster, waiting), origin)).unzip();
    let targets = targets(&args.files).into_iter();
    let check = |target| CheckedPolicy::new(target, &loader, args, cluster.as_ref());
    let mut all: Vec<CheckedPolicy> = targets.map(check).collect();
    note_weights(&mut all);
    match args.output {
        OutputFormat::Text => origin
            .into_iter()
            .chain(all.iter().map(CheckedPolicy::as_text))
            .try_for_each(|text| output::print(&text))?,
        OutputFormat::Json => output::print_json(&all.iter().map(CheckedPolicy::as_json).collect::<Vec<_>>())?,
    }
    let refused = all.iter().any(|checked| checked.refusal().is_some());
    Ok(if refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Names the policies of directories whose weight has no effect.
fn note_weights(all: &mut [CheckedPolicy]) {
    let scorer = |checked: &CheckedPolicy| {
        let group = checked.name.rfind([' ', '/']).filter(|_| checked.is_listed)?;
        Some((checked.name[..group].to_owned(), checked.report.as_ref().ok()?.weight?))
    };
    let groups: Vec<_> = all.iter().filter_map(scorer).collect();
    for checked in all {
        let alone = scorer(checked)
            .filter(|(group, weight)| *weight != 1 && groups.iter().filter(|(other, _)| other == group).count() == 1);
        let unused = checked.report.as_ref().ok().and_then(|report| report.unused_weight);
        let why = match (alone, unused) {
            (Some((_, weight)), _) => format!(
                "the weight {weight} has no effect, since no other policy of its group scores; `plimsoll scheduler-config --weight {weight}` weights plimsoll's scores beside kube-scheduler's own"
            ),
            (None, Some(weight)) => format!("the weight {weight} has no effect: the policy does not score"),
            (None, None) => continue,
        };
        output::remark(&format!("{}: {why}", checked.name));
        checked.without_effect = Some(why);
    }
}

fn inspect(
    files: &PolicyFiles,
    loader: &WasmLoader,
    purity: bool,
    cluster: Option<&(Arc<Cluster>, Vec<Pod>)>,
) -> Result<CheckReport> {
    let mut inspection = loader.inspect(&files.rule().display().to_string(), &files.module()?)?;
    let member = files.sidecar.as_ref().map(|_| plimsoll_directory::load_one(files, loader)).transpose()?;
    let callee = member.as_ref().map_or_else(|| Callee::alone(inspection.policy.clone()), Callee::of);
    // The sidecar of a program names its verbs, and any may say that the filter counts no pods.
    inspection.verbs = callee.policy.verbs();
    inspection.policy = Arc::clone(&callee.policy);
    let is_cel = files.source == Source::Cel;
    if let Some(member) = member.as_ref().filter(|_| is_cel) {
        inspection.imports = member.policy.reads().iter().map(str::to_owned).collect();
        (inspection.size, inspection.digest) = (member.size, member.digest.to_string());
    }
    let is_off = member.as_ref().is_some_and(|member| member.config.mode == Mode::Off);
    let default = PolicyConfig::default_of(callee.policy.as_ref());
    let config = member.as_ref().map_or(&default, |member| &member.config);
    let (verbs, counts, calls) = (inspection.verbs, callee.may_count(), vec![]);
    let scores = config.mode == Mode::Enforce && (verbs.has(Verb::Score) || verbs.has(Verb::Rank));
    let weight = Some(config.weight).filter(|weight| scores && *weight > 0);
    let matches = cluster.map(|(cluster, waiting)| Matches::of(&config.matches, cluster, waiting));
    let mut report = CheckReport {
        sidecar: files.sidecar.clone(),
        is_cel,
        inspection,
        not_called: None,
        is_off,
        calls,
        reason_with_node: None,
        purity: None,
        counts,
        remarks: callee.policy.remarks().to_vec(),
        weight,
        unused_weight: Some(config.weight)
            .filter(|weight| *weight > 1 && !verbs.has(Verb::Score) && !verbs.has(Verb::Rank)),
        matches,
    };
    try_out(&mut report, &callee, purity);
    Ok(report)
}

/// Calls the policy, if it accepts its settings. One that is switched off may have any: nobody asks it.
fn try_out(report: &mut CheckReport, callee: &Callee, purity: bool) {
    if report.is_off {
        report.not_called = Some("its mode is off".to_owned());
        return;
    }
    match callee.validate() {
        Err(fault) => report.calls.push((Verb::Validate, Err(fault))),
        // With a sidecar it was refused before.
        Ok(Err(why)) => report.not_called = Some(format!("it needs settings, and has no sidecar: {why}")),
        Ok(Ok(())) => {
            report.calls = callee.call_times();
            report.calls.extend(callee.trial_faults().into_iter().map(|(verb, fault)| (verb, Err(fault))));
            report.reason_with_node = callee.reason_with_node();
            report.purity = purity.then(|| Purity::of(callee));
        }
    }
}

// === impl CheckedPolicy ===

impl CheckedPolicy {
    fn new(target: Target, loader: &WasmLoader, args: &CheckArgs, cluster: Option<&(Arc<Cluster>, Vec<Pod>)>) -> Self {
        let Target { name, files, is_listed, is_ignored } = target;
        let file = files.as_ref().ok().map(|files| files.rule().display().to_string());
        let report = files.and_then(|files| inspect(&files, loader, args.purity, cluster));
        Self { name, file, is_listed, is_ignored, report, is_strict: args.strict, without_effect: None }
    }

    /// Why it is refused, in one line; `None` if it is accepted.
    fn refusal(&self) -> Option<String> {
        match &self.report {
            Err(_) if self.is_ignored && !self.is_strict => None,
            Err(error) => Some(without_name(&format!("{error:#}"), &self.name)),
            Ok(report) => {
                let is_refused = self.is_strict && !report.is_off;
                let idle = report.not_called.clone().or_else(|| self.without_effect.clone());
                let idle = idle.or_else(|| report.matches.as_ref().and_then(Matches::none));
                let is_bare = self.is_listed && report.sidecar.is_none();
                let idle = idle.or_else(|| is_bare.then(|| NO_SIDECAR.to_owned()));
                report.refusal().or_else(|| idle.filter(|_| is_refused))
            }
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
        text::push_line(&mut text, format_args!("{}: {verdict}", self.name));
        let lines = match &self.report {
            Ok(report) if self.is_listed => report.asked_for_lines(),
            Ok(report) => report.lines(),
            Err(_) => vec![],
        };
        for (key, value) in lines {
            text::push_line(&mut text, format_args!("  {key:<9}{value}"));
        }
        text
    }

    fn as_json(&self) -> Value {
        let mut json = match &self.report {
            Ok(report) => report.as_json(),
            Err(_) => json!({"ignored": self.is_ignored}),
        };
        let error = match &self.report {
            Ok(_) => self.refusal(),
            Err(error) => Some(format!("{error:#}")),
        };
        json["accepted"] = error.is_none().into();
        json["error"] = error.into();
        json["name"] = self.name.as_str().into();
        json["file"] = self.file.as_deref().unwrap_or(&self.name).into();
        json
    }
}

/// The error of a file without its name, which the line begins with already.
fn without_name(error: &str, name: &str) -> String {
    match error.strip_prefix(name).map(|rest| (rest.strip_prefix(": "), rest.strip_prefix(' '))) {
        Some((Some(rest), _)) => rest.to_owned(),
        Some((None, Some(rest))) => format!("it {rest}"),
        _ => error.to_owned(),
    }
}
