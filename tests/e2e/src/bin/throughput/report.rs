//! One table for a reader, one file for scripts.

use std::{fs, io::Write as _};

use anyhow::Result;
use plimsoll_harness::workspace;
use serde_json::{Value, json};

use crate::{contender::Contender, load::Outcome};

/// All runs, in the order in which they were made.
#[derive(Default)]
pub(crate) struct Report {
    runs: Vec<(usize, Contender, Outcome)>,
}

// === impl Report ===

impl Report {
    /// Adds a run, and tells it at once.
    pub(crate) fn add(&mut self, nodes: usize, contender: Contender, outcome: Outcome) -> Result<()> {
        let (name, policies) = contender.describe();
        let Outcome { pods_per_second, algorithm_ms, extender_ms } = outcome;
        // Load that other programs cause makes a run worthless.
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        writeln!(
            std::io::stderr(),
            "{nodes} nodes, {name} {policies}: {pods_per_second:.1} pods/s, {algorithm_ms:.2} ms, \
             {extender_ms:.2} ms of its own (load {})",
            load.split(' ').next().unwrap_or_default()
        )?;
        self.runs.push((nodes, contender, outcome));
        Ok(())
    }

    /// Prints the medians and writes them to `target/bench/throughput.json`.
    pub(crate) fn finish(&self) -> Result<()> {
        let mut out = std::io::stdout();
        writeln!(
            out,
            "\n{:>6} {:<9} {:>8} {:>7} {:>12} {:>12} {:>15} {:>13} {:>16}",
            "nodes",
            "extender",
            "policies",
            "pods/s",
            "against none",
            "against null",
            "against by name",
            "algorithm ms",
            "extender, cpu ms"
        )?;
        let mut sizes: Vec<usize> = self.runs.iter().map(|(nodes, ..)| *nodes).collect();
        sizes.dedup();
        let mut rows: Vec<Value> = vec![];
        for (nodes, contender) in sizes.iter().flat_map(|nodes| Contender::ALL.map(|contender| (*nodes, contender))) {
            let (extender, policies) = contender.describe();
            let runs = self.all(nodes, contender, |outcome| outcome.pods_per_second);
            let pace = median(runs.clone());
            let [none, null, by_name] = [Contender::None, Contender::Null, Contender::ByName]
                .map(|other| pace / median(self.all(nodes, other, |outcome| outcome.pods_per_second)));
            let algorithm_ms = median(self.all(nodes, contender, |outcome| outcome.algorithm_ms));
            let extender_ms = median(self.all(nodes, contender, |outcome| outcome.extender_ms));
            writeln!(
                out,
                "{nodes:>6} {extender:<9} {policies:>8} {pace:>7.1} {none:>12.2} {null:>12.2} {by_name:>15.2} \
                 {algorithm_ms:>13.2} {extender_ms:>16.2}"
            )?;
            rows.push(json!({
                "nodes": nodes, "extender": extender, "policies": policies, "pods_per_second": pace,
                "against_none": none, "against_null": null, "against_by_name": by_name,
                "algorithm_ms": algorithm_ms, "extender_cpu_ms": extender_ms, "runs": runs,
            }));
        }
        let path = workspace().join("target/bench/throughput.json");
        fs::create_dir_all(workspace().join("target/bench"))?;
        fs::write(&path, format!("{:#}\n", Value::from(rows)))?;
        Ok(writeln!(out, "\nresults: {}", path.display())?)
    }

    fn all(&self, nodes: usize, contender: Contender, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        let own = self.runs.iter().filter(|run| (run.0, run.1) == (nodes, contender));
        own.map(|(.., outcome)| figure(outcome)).collect()
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
