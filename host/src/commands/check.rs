//! `plimsoll check`: what a policy file is, or why it is refused.

mod purity;

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use plimsoll_core::{Ask, Cluster, Fault, Limits, Member, Pod, Verb, View};
use plimsoll_wasm::{Inspection, WasmLoader};
use serde_json::{Value, json};

use crate::{
    args::{CheckArgs, Output},
    demo::sample,
    text,
};

use purity::Purity;

/// What was found out about one file.
struct Report {
    file: PathBuf,
    sidecar: Option<PathBuf>,
    inspection: Inspection,
    calls: Vec<(Verb, Result<CallTime, Fault>)>,
    /// None unless it was asked for.
    purity: Vec<Purity>,
}

/// How long a verb takes on the sample cluster.
struct CallTime {
    /// A fresh instance and one node.
    first: Duration,
    /// Each further node; none for a verb that is about one node.
    further: Option<Duration>,
}

pub(super) fn check(args: &CheckArgs) -> Result<ExitCode> {
    let loader = super::loader(&args.engine)?;
    let reports: Vec<_> = args.files.iter().map(|file| (file, inspect(file, &loader, args.purity))).collect();
    match args.output {
        Output::Text => reports.iter().try_for_each(|(file, report)| super::print(&as_text(file, report)))?,
        Output::Json => {
            let all: Vec<Value> = reports.iter().map(|(file, report)| as_json(file, report)).collect();
            super::print(&format!("{:#}\n", Value::Array(all)))?;
        }
    }
    let refused = reports.iter().any(|(_, report)| report.as_ref().map_or(true, Report::is_refused));
    Ok(if refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn inspect(file: &Path, loader: &WasmLoader, purity: bool) -> Result<Report> {
    let (module, sidecar) = parts(file)?;
    let bytes = std::fs::read(&module).with_context(|| format!("{}", module.display()))?;
    let inspection = loader.inspect(&bytes)?;
    let callee = match &sidecar {
        // Without a sidecar there are no settings that a call could be made with.
        None => Callee::alone(&inspection),
        Some(path) => Callee::of(&plimsoll_directory::load_one(&module, Some(path), loader)?),
    };
    let (calls, purity) = (call_times(&callee), if purity { Purity::of(&callee) } else { vec![] });
    Ok(Report { file: module, sidecar, inspection, calls, purity })
}

/// The module and the sidecar that a file name stands for.
fn parts(file: &Path) -> Result<(PathBuf, Option<PathBuf>)> {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "wasm" => {
            let beside = ["yaml", "yml"].map(|ending| file.with_extension(ending));
            Ok((file.to_owned(), beside.into_iter().find(|path| path.exists())))
        }
        "yaml" | "yml" => Ok((plimsoll_directory::module_of(file)?, Some(file.to_owned()))),
        _ => bail!("expected a policy module (.wasm) or a sidecar (.yaml)"),
    }
}

/// A policy, and what it is called with.
struct Callee {
    policy: Arc<dyn plimsoll_core::Policy>,
    settings: Arc<str>,
    timeout: Duration,
    memory: usize,
}

// === impl Callee ===

impl Callee {
    fn alone(inspection: &Inspection) -> Self {
        let config = plimsoll_core::PolicyConfig::default();
        let policy = Arc::clone(&inspection.policy);
        Self { policy, settings: Arc::from("null"), timeout: config.timeout, memory: config.memory }
    }

    fn of(member: &Member) -> Self {
        let (policy, settings) = (Arc::clone(&member.policy), Arc::clone(&member.settings));
        Self { policy, settings, timeout: member.config.timeout, memory: member.config.memory }
    }

    fn time(&self, pod: &Arc<Pod>, cluster: &Arc<Cluster>, verb: Verb, nodes: u32) -> Result<Duration, Fault> {
        let slots: Vec<u32> = (0..nodes).collect();
        let started = Instant::now();
        let ask = self.ask(pod, cluster, nodes);
        match verb {
            Verb::Filter => self.policy.filter(&ask, &slots).map(drop),
            Verb::Score => self.policy.score(&ask, &slots).map(drop),
            Verb::Rank => self.policy.rank(&ask).map(drop),
            Verb::Bind => self.policy.bind(&ask, 0).map(drop),
            Verb::Preempt | Verb::Validate => Ok(()),
        }?;
        Ok(started.elapsed())
    }

    /// A call about the first so many nodes.
    fn ask(&self, pod: &Arc<Pod>, cluster: &Arc<Cluster>, nodes: u32) -> Ask {
        let view = View::new(Arc::clone(pod), Arc::clone(cluster), (0..nodes).collect(), 0);
        let limits = Limits::until(Instant::now() + self.timeout, self.memory);
        let view = Arc::new(view.with_settings(Arc::clone(&self.settings)));
        Ask::new(Arc::from("check"), view, limits)
    }

    /// What one instance answers about these nodes, in words.
    fn answers(&self, pod: &Arc<Pod>, cluster: &Arc<Cluster>, verb: Verb, nodes: &[u32]) -> Result<Vec<String>, Fault> {
        let ask = self.ask(pod, cluster, sample::NODES);
        if verb == Verb::Filter {
            return Ok(self.policy.filter(&ask, nodes)?.iter().map(|verdict| format!("{verdict:?}")).collect());
        }
        Ok(self.policy.score(&ask, nodes)?.iter().map(ToString::to_string).collect())
    }
}

/// Times the verbs that answer about nodes; the first round warms the pool up.
fn call_times(callee: &Callee) -> Vec<(Verb, Result<CallTime, Fault>)> {
    let timed = [Verb::Filter, Verb::Score, Verb::Rank, Verb::Bind];
    let timed = timed.into_iter().filter(|verb| callee.policy.verbs().has(*verb));
    let (pod, cluster) = (Arc::new(sample::pod()), Arc::new(sample::cluster()));
    let best = |verb, nodes| -> Result<Duration, Fault> {
        let rounds = (0..5).map(|_| callee.time(&pod, &cluster, verb, nodes)).collect::<Result<Vec<_>, _>>()?;
        Ok(rounds.into_iter().min().unwrap_or_default())
    };
    let time = |verb| {
        let first = best(verb, 1)?;
        if verb == Verb::Bind {
            return Ok(CallTime { first, further: None });
        }
        let all = best(verb, sample::NODES)?;
        Ok(CallTime { first, further: Some(all.saturating_sub(first) / (sample::NODES - 1)) })
    };
    timed.map(|verb| (verb, time(verb))).collect()
}

// === impl Report ===

impl Report {
    fn is_refused(&self) -> bool {
        let has_fault = self.sidecar.is_some() && self.calls.iter().any(|(_, time)| time.is_err());
        has_fault || self.purity.iter().any(Purity::differs)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let inspection = &self.inspection;
        let kind = if inspection.lifted { "core module, lifted to a component" } else { "component" };
        let cached = if inspection.from_cache { " (from the cache)" } else { "" };
        let mut lines = vec![
            ("verbs", join(inspection.verbs.iter().map(Verb::as_str))),
            ("imports", join(inspection.imports.iter().map(String::as_str))),
            ("kind", kind.to_owned()),
            ("size", text::size(inspection.size)),
            ("digest", inspection.digest.clone()),
            ("compile", format!("{}{cached}", text::duration(inspection.compiled_in))),
        ];
        if let Some(sidecar) = &self.sidecar {
            lines.push(("sidecar", format!("{}: accepted", sidecar.display())));
        }
        for (verb, time) in &self.calls {
            lines.push(("call", format!("{verb}: {}", self.call_text(time))));
        }
        lines.extend(self.purity.iter().map(|purity| ("purity", purity.as_text())));
        lines
    }

    fn call_text(&self, time: &Result<CallTime, Fault>) -> String {
        match time {
            Ok(CallTime { first, further: Some(further) }) => format!(
                "{} for a fresh instance and a node, {} for each further node",
                text::duration(*first),
                text::duration(*further)
            ),
            Ok(CallTime { first, further: None }) => {
                format!("{} for a fresh instance and its one node", text::duration(*first))
            }
            Err(fault) if self.sidecar.is_none() => format!("not timed without a sidecar ({fault})"),
            Err(fault) => format!("FAULT {fault}"),
        }
    }
}

fn join<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let text = texts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "none".to_owned() } else { text }
}

fn as_text(file: &Path, report: &Result<Report>) -> String {
    let mut text = format!("{}\n", file.display());
    let lines = match report {
        Ok(report) => report.lines(),
        Err(error) => vec![("REFUSED", format!("{error:#}"))],
    };
    for (key, value) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {key:<9}{value}");
    }
    text
}

fn as_json(file: &Path, report: &Result<Report>) -> Value {
    let report = match report {
        Ok(report) => report,
        Err(error) => return json!({"file": file, "accepted": false, "error": format!("{error:#}")}),
    };
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let call = |(verb, time): &(Verb, Result<CallTime, Fault>)| match time {
        Ok(time) => {
            json!({"verb": verb.as_str(), "first_us": micros(time.first), "node_us": time.further.map(micros)})
        }
        Err(fault) => json!({"verb": verb.as_str(), "fault": fault.kind.as_str(), "detail": fault.detail}),
    };
    let inspection = &report.inspection;
    json!({
        "file": report.file,
        "accepted": !report.is_refused(),
        "verbs": inspection.verbs.iter().map(Verb::as_str).collect::<Vec<_>>(),
        "imports": inspection.imports,
        "lifted": inspection.lifted,
        "size": inspection.size,
        "digest": inspection.digest,
        "compile_us": micros(inspection.compiled_in),
        "from_cache": inspection.from_cache,
        "sidecar": report.sidecar,
        "purity": report.purity.iter().map(Purity::as_json).collect::<Vec<_>>(),
        "calls": report.calls.iter().map(call).collect::<Vec<_>>(),
    })
}
