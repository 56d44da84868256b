//! The report of a run: printed, and written beside the samples.

use std::{collections::BTreeMap, fmt::Write as _, fs, process::ExitStatus};

use anyhow::Result;
use serde::Serialize;

use crate::{
    judge::{Verdict, judge},
    plan::{Output, Plan},
    sampler::{Sample, Sampler},
    stage::Stage,
    tally::Kind,
};

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    binary: String,
    environment: Vec<String>,
    seed: u64,
    passed: bool,
    verdicts: Vec<Verdict>,
    phases: Vec<Phase>,
    /// By name, for each phase: the average and the most.
    threads: BTreeMap<String, Vec<(f64, u64)>>,
    requests: BTreeMap<&'static str, Row>,
    failures: Vec<String>,
}

/// Figures of one phase.
#[derive(Debug, Serialize)]
struct Phase {
    name: &'static str,
    seconds: f64,
    rss_mib_first: f64,
    rss_mib_last: f64,
    rss_mib_most: f64,
    /// At the end of the phase: all that is no file, and what of it is known by its holder.
    anon_mib: f64,
    stacks_mib: f64,
    decision_cache_mib: f64,
    peak_mib: f64,
    descriptors_most: u64,
    threads_most: u64,
    children_most: u64,
    cores: f64,
    answers: u64,
    p50_us: u32,
    p99_us: u32,
    metric_lines: u64,
    cache_mib: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    kind: Kind,
    p50_us: Option<u32>,
    p99_us: Option<u32>,
}

// === impl Report ===

impl Report {
    pub(crate) fn new(plan: &Plan, stage: &Stage, sampler: &Sampler, exit: Option<ExitStatus>) -> Self {
        let verdicts = judge(stage, sampler, exit);
        let row = |kind: Kind| Row { p50_us: kind.quantile_us(0.5), p99_us: kind.quantile_us(0.99), kind };
        Self {
            binary: plan.binary.display().to_string(),
            environment: stage.environment.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            seed: plan.seed,
            passed: verdicts.iter().all(|verdict| verdict.holds),
            verdicts,
            phases: sampler.phases().into_iter().filter_map(Phase::of).collect(),
            threads: by_name(sampler),
            requests: stage.tally.kinds().into_iter().map(|(name, kind)| (name, row(kind))).collect(),
            failures: stage.tally.failures().1,
        }
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.passed
    }

    /// Prints it, and writes `report.json` and `report.txt`.
    pub(crate) fn write(&self, plan: &Plan) -> Result<()> {
        let (json, text) = (serde_json::to_string_pretty(self)?, self.text(plan)?);
        fs::write(plan.directory.join("report.json"), &json)?;
        fs::write(plan.directory.join("report.txt"), &text)?;
        print(if plan.output == Output::Json { &json } else { &text });
        Ok(())
    }

    fn text(&self, plan: &Plan) -> Result<String> {
        let mut text = String::new();
        writeln!(
            text,
            "{:<10} {:>7} {:>23} {:>6} {:>7} {:>8} {:>6} {:>9} {:>8} {:>8} {:>8} {:>9}",
            "phase",
            "seconds",
            "RSS MiB first/last/most",
            "peak",
            "fds",
            "threads",
            "cores",
            "answers",
            "p50 us",
            "p99 us",
            "metrics",
            "cache MiB"
        )?;
        for phase in &self.phases {
            let rss = format!("{:.1}/{:.1}/{:.1}", phase.rss_mib_first, phase.rss_mib_last, phase.rss_mib_most);
            writeln!(
                text,
                "{:<10} {:>7.0} {:>23} {:>6.1} {:>7} {:>8} {:>6.2} {:>9} {:>8} {:>8} {:>8} {:>9.1}",
                phase.name,
                phase.seconds,
                rss,
                phase.peak_mib,
                phase.descriptors_most,
                phase.threads_most,
                phase.cores,
                phase.answers,
                phase.p50_us,
                phase.p99_us,
                phase.metric_lines,
                phase.cache_mib
            )?;
        }
        writeln!(text, "\n{:<10} {:>9} {:>9} {:>9} {:>9}", "MiB", "RSS", "no files", "stacks", "decisions")?;
        for phase in &self.phases {
            let Phase { name, rss_mib_last, anon_mib, stacks_mib, decision_cache_mib, .. } = phase;
            writeln!(
                text,
                "{name:<10} {rss_mib_last:>9.1} {anon_mib:>9.1} {stacks_mib:>9.1} {decision_cache_mib:>9.1}"
            )?;
        }
        writeln!(text, "with {}: freed memory goes back at once", self.environment.join(" "))?;
        writeln!(text, "\nthreads (on average/most)")?;
        for (name, phases) in &self.threads {
            let columns: Vec<String> = phases.iter().map(|(mean, most)| format!("{mean:>9.1}/{most:<3}")).collect();
            writeln!(text, "{name:<20}{}", columns.concat())?;
        }
        writeln!(
            text,
            "\n{:<40} {:>9} {:>9} {:>7} {:>8} {:>8}",
            "requests", "ok", "declined", "failed", "p50 us", "p99 us"
        )?;
        let us = |time: Option<u32>| time.map_or_else(String::new, |time| time.to_string());
        for (name, row) in &self.requests {
            let declined: u64 = row.kind.declined.values().sum();
            writeln!(
                text,
                "{name:<40} {:>9} {declined:>9} {:>7} {:>8} {:>8}",
                row.kind.ok,
                row.kind.failed,
                us(row.p50_us),
                us(row.p99_us)
            )?;
            for (why, count) in &row.kind.declined {
                writeln!(text, "    {why}: {count}")?;
            }
        }
        if !self.failures.is_empty() {
            writeln!(text, "\nfailures (the first of them)")?;
            for failure in self.failures.iter().take(10) {
                writeln!(text, "  {failure}")?;
            }
        }
        writeln!(text)?;
        for verdict in &self.verdicts {
            writeln!(text, "{} {}: {}", if verdict.holds { "ok  " } else { "FAIL" }, verdict.promise, verdict.figures)?;
        }
        let outcome = if self.passed { "passed" } else { "FAILED" };
        writeln!(text, "\n{outcome}; seed {}; samples and log are in {}", self.seed, plan.directory.display())?;
        Ok(text)
    }
}

// === impl Phase ===

impl Phase {
    fn of(samples: &[Sample]) -> Option<Self> {
        let (first, last) = (samples.first()?, samples.last()?);
        let mib = |sample: &Sample| sample.usage.rss_kib as f64 / 1_024.0;
        let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or(0);
        // Of a typical second: the median over seconds.
        let middle = |of: fn(&Sample) -> u32| {
            let mut all: Vec<u32> = samples.iter().map(of).collect();
            all.sort_unstable();
            all[all.len() / 2]
        };
        let seconds = last.seconds - first.seconds;
        Some(Self {
            name: first.phase,
            seconds,
            rss_mib_first: mib(first),
            rss_mib_last: mib(last),
            rss_mib_most: samples.iter().map(mib).fold(0.0, f64::max),
            anon_mib: last.usage.anon_kib as f64 / 1_024.0,
            stacks_mib: last.holdings.stacks_kib as f64 / 1_024.0,
            decision_cache_mib: last.holdings.decision_cache_bytes as f64 / f64::from(1 << 20),
            peak_mib: last.usage.peak_kib as f64 / 1_024.0,
            descriptors_most: most(|sample| sample.usage.descriptors),
            threads_most: most(|sample| sample.usage.threads),
            children_most: most(|sample| sample.usage.children),
            cores: (last.usage.cpu_ms - first.usage.cpu_ms) as f64 / 1_000.0 / seconds.max(1.0),
            answers: samples.iter().map(|sample| sample.window.answers).sum(),
            p50_us: middle(|sample| sample.window.p50_us),
            p99_us: middle(|sample| sample.window.p99_us),
            metric_lines: last.holdings.series,
            cache_mib: last.holdings.cache_bytes as f64 / f64::from(1 << 20),
        })
    }
}

/// Threads of each name, for each phase.
fn by_name(sampler: &Sampler) -> BTreeMap<String, Vec<(f64, u64)>> {
    let phases = sampler.phases();
    let mut names: BTreeMap<String, Vec<(f64, u64)>> = BTreeMap::new();
    for ((phase, name), counts) in &sampler.threads {
        let row = names.entry(name.clone()).or_insert_with(|| vec![(0.0, 0); phases.len()]);
        let length = phases.get(*phase).map_or(1, |samples| samples.len().max(1));
        if let Some(cell) = row.get_mut(*phase) {
            *cell = (counts.sum as f64 / length as f64, counts.most);
        }
    }
    names
}

#[expect(clippy::print_stdout, reason = "this is the report")]
fn print(text: &str) {
    println!("{text}");
}
