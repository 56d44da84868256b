//! One table for a reader, one file for scripts.

use std::{fmt::Write as _, fs, io::Write as _};

use anyhow::Result;
use plimsoll_harness::workspace;
use serde_json::{Value, json};

use crate::{
    args::{Args, View},
    contender::Contender,
    load::Outcome,
};

/// All runs, in the order in which they were made.
pub(crate) struct Report {
    view: &'static str,
    page: bool,
    pods: usize,
    /// The load of the machine as the run begins, which other programs cause.
    load_before: String,
    runs: Vec<(usize, Contender, Outcome)>,
}

/// The medians of one contender at one size.
struct Row {
    nodes: usize,
    extender: &'static str,
    policies: usize,
    pods_per_second: f64,
    against_none: f64,
    against_null: f64,
    against_by_name: f64,
    algorithm_ms: f64,
    extender_ms: f64,
    runs: Vec<f64>,
}

// === impl Report ===

impl Report {
    pub(crate) fn new(args: &Args) -> Self {
        let view = match args.view {
            View::Snapshot => "snapshot",
            View::Watch => "watch",
        };
        Self { view, page: args.page, pods: args.pods, load_before: load(), runs: vec![] }
    }

    /// Adds a run, and tells it at once.
    pub(crate) fn add(&mut self, nodes: usize, contender: Contender, outcome: Outcome) -> Result<()> {
        let ((name, policies), Outcome { pods_per_second, algorithm_ms, extender_ms }) =
            (contender.describe(), outcome);
        let line = format!(
            "{nodes} nodes, {name} {policies}: {pods_per_second:.1} pods/s, {algorithm_ms:.2} ms, {extender_ms:.2} ms of its own"
        );
        writeln!(std::io::stderr(), "{line} (load {})", load())?;
        self.runs.push((nodes, contender, outcome));
        Ok(())
    }

    /// Prints the table and writes `target/bench/throughput.json`.
    pub(crate) fn finish(self) -> Result<()> {
        let rows = self.rows();
        let mut table = format!(
            "\n{:>6} {:<9} {:>8} {:>7} {:>12} {:>12} {:>15} {:>13} {:>16}\n",
            "nodes",
            "extender",
            "policies",
            "pods/s",
            "against none",
            "against null",
            "against by name",
            "algorithm ms",
            "extender, cpu ms"
        );
        for row in &rows {
            let Row { nodes, extender, policies, pods_per_second, against_none, against_null, .. } = row;
            let Row { against_by_name, algorithm_ms, extender_ms, .. } = row;
            writeln!(
                table,
                "{nodes:>6} {extender:<9} {policies:>8} {pods_per_second:>7.1} {against_none:>12.2} {against_null:>12.2} {against_by_name:>15.2} {algorithm_ms:>13.2} {extender_ms:>16.2}"
            )?;
        }
        let path = workspace().join("target/bench/throughput.json");
        fs::create_dir_all(workspace().join("target/bench"))?;
        let json = json!({
            "view": self.view, "pods": self.pods, "load_before": self.load_before, "load_after": load(),
            "cores": std::thread::available_parallelism()?.get(),
            "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        });
        fs::write(&path, format!("{json:#}\n"))?;
        write!(std::io::stdout(), "{table}\nresults: {}\n", path.display())?;
        if self.page {
            fs::write(workspace().join("docs/performance/throughput.md"), self.page(&rows)?)?;
        }
        Ok(())
    }

    fn page(&self, rows: &[Row]) -> Result<String> {
        let mut page =
            "# The last run of `make throughput`\n\nWritten by the run itself (`make throughput THROUGHPUT=--page`); \
                        [performance.md](../performance.md) says how to read it.\n"
                .to_owned();
        let (view, pods, before, now) = (self.view, self.pods, &self.load_before, load());
        writeln!(
            page,
            "{pods} pods a run, plimsoll's view of the cluster: {view}; load of the machine (1, 5, 15 minutes) before: {before}, after: {now}.\n"
        )?;
        page += "| nodes | extender | policies | pods/s | against none | against null | against by name | scheduling algorithm, ms | the extender's processor time for a pod, ms | runs |\n\
                 |---|---|---|---|---|---|---|---|---|---|\n";
        for row in rows {
            let Row { nodes, extender, policies, pods_per_second, against_none, against_null, .. } = row;
            let Row { against_by_name, algorithm_ms, extender_ms, runs, .. } = row;
            let runs = runs.iter().map(|pace| format!("{pace:.0}")).collect::<Vec<_>>().join(", ");
            writeln!(
                page,
                "| {nodes} | {extender} | {policies} | {pods_per_second:.0} | {against_none:.2} | {against_null:.2} | {against_by_name:.2} | {algorithm_ms:.2} | {extender_ms:.2} | {runs} |"
            )?;
        }
        Ok(page)
    }

    fn rows(&self) -> Vec<Row> {
        let mut sizes: Vec<usize> = self.runs.iter().map(|(nodes, ..)| *nodes).collect();
        sizes.dedup();
        sizes.iter().flat_map(|nodes| Contender::ALL.map(|contender| self.row(*nodes, contender))).collect()
    }

    fn row(&self, nodes: usize, contender: Contender) -> Row {
        let (extender, policies) = contender.describe();
        let pace = |contender| median(self.all(nodes, contender, |outcome| outcome.pods_per_second));
        let runs = self.all(nodes, contender, |outcome| outcome.pods_per_second);
        let pods_per_second = pace(contender);
        Row {
            nodes,
            extender,
            policies,
            pods_per_second,
            against_none: pods_per_second / pace(Contender::None),
            against_null: pods_per_second / pace(Contender::Null),
            against_by_name: pods_per_second / pace(Contender::ByName),
            algorithm_ms: median(self.all(nodes, contender, |outcome| outcome.algorithm_ms)),
            extender_ms: median(self.all(nodes, contender, |outcome| outcome.extender_ms)),
            runs,
        }
    }

    fn all(&self, nodes: usize, contender: Contender, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        let own = self.runs.iter().filter(|run| (run.0, run.1) == (nodes, contender));
        own.map(|(.., outcome)| figure(outcome)).collect()
    }
}

// === impl Row ===

impl Row {
    fn json(&self) -> Value {
        let hundredth = |figure: f64| (figure * 100.0).round() / 100.0;
        json!({
            "nodes": self.nodes, "extender": self.extender, "policies": self.policies,
            "pods_per_second": hundredth(self.pods_per_second),
            "against_none": hundredth(self.against_none), "against_null": hundredth(self.against_null),
            "against_by_name": hundredth(self.against_by_name),
            "algorithm_ms": hundredth(self.algorithm_ms), "extender_cpu_ms": hundredth(self.extender_ms),
            "runs": self.runs.iter().copied().map(hundredth).collect::<Vec<_>>(),
        })
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The load of the last minute, of five and of fifteen.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
