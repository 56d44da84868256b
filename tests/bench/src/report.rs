//! One table for a reader, one file for scripts.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::sample::Sample;

/// What was measured, and how long it took.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) work: &'static str,
    /// Who the nodes come from: `names`, `objects`, or `none` where it does not matter.
    pub(crate) mode: &'static str,
    pub(crate) nodes: usize,
    pub(crate) policies: usize,
    /// `plimsoll`, or the peer beside it.
    pub(crate) server: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) calls: usize,
}

/// A figure beside what it should be.
#[derive(Debug)]
struct Aim {
    what: &'static str,
    most: String,
    found: String,
    met: bool,
}

/// All that one run measures.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    aims: Vec<Aim>,
}

// === impl Row ===

impl Row {
    /// A row of plimsoll's own; peers set [`Row::server`].
    pub(crate) fn new(
        work: &'static str,
        mode: &'static str,
        nodes: usize,
        policies: usize,
        verb: &'static str,
        sample: &Sample,
    ) -> Self {
        let tenth = |us: f64| (us * 10.0).round() / 10.0;
        let (p50_us, p99_us) = (tenth(sample.percentile(0.5)), tenth(sample.percentile(0.99)));
        Self { work, mode, nodes, policies, server: "plimsoll", verb, p50_us, p99_us, calls: sample.len() }
    }
}

// === impl Report ===

impl Report {
    /// Adds a row, and tells it at once.
    pub(crate) fn add(&mut self, row: Row) -> Result<()> {
        let line = format!("measured {} {} {} {}", row.work, row.nodes, row.verb, row.server);
        writeln!(std::io::stderr(), "{line}: {} us", row.p50_us)?;
        self.rows.push(row);
        Ok(())
    }

    /// Holds a figure against the most that it may be; `show` turns both into text.
    pub(crate) fn aim(&mut self, what: &'static str, most: f64, found: f64, show: impl Fn(f64) -> String) {
        self.aims.push(Aim { what, most: format!("<= {}", show(most)), found: show(found), met: found <= most });
    }

    /// Prints the table and writes `target/bench/results.json`.
    pub(crate) fn finish(self) -> Result<()> {
        let path = target().join("bench/results.json");
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(&path, serde_json::to_string_pretty(&self.rows)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        write!(std::io::stdout(), "{}\nresults: {}\n", self.table()?, path.display())?;
        Ok(())
    }

    fn table(&self) -> Result<String> {
        let mut table = format!(
            "\n{:<18} {:<8} {:>6} {:>8} {:<10} {:<10} {:>11} {:>11} {:>6}\n",
            "work", "mode", "nodes", "policies", "verb", "server", "p50 us", "p99 us", "calls"
        );
        for row in &self.rows {
            let Row { work, mode, nodes, policies, server, verb, p50_us, p99_us, calls } = row;
            writeln!(
                table,
                "{work:<18} {mode:<8} {nodes:>6} {policies:>8} {verb:<10} {server:<10} {p50_us:>11.1} {p99_us:>11.1} {calls:>6}"
            )?;
        }
        writeln!(table, "\n{:<58} {:>12} {:>12}", "aim", "", "found")?;
        for Aim { what, most, found, met } in &self.aims {
            let met = if *met { "met" } else { "missed" };
            writeln!(table, "{what:<58} {most:>12} {found:>12}  {met}")?;
        }
        Ok(table)
    }
}

/// The workspace's target folder.
pub(crate) fn target() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).join("target")
}
