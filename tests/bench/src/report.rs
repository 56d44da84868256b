//! One table for a reader, one file for scripts.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use plimsoll_harness::workspace;
use serde::Serialize;

use crate::sample::Sample;

/// A measurement, and the time that it took.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) work: &'static str,
    /// The source of the nodes: `names`, `objects`, or `watch`.
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

/// Work, mode, nodes and policies of a row.
type Key = (&'static str, &'static str, usize, usize);

/// All that one run measures.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    aims: Vec<String>,
}

// === impl Row ===

impl Row {
    /// A row of plimsoll's own; peers set [`Row::server`].
    pub(crate) fn new(work: &'static str, mode: &'static str, nodes: usize, policies: usize) -> Self {
        let (p50_us, p99_us) = (f64::NAN, f64::NAN);
        Self { work, mode, nodes, policies, server: "plimsoll", verb: "filter", p50_us, p99_us, calls: 0 }
    }

    /// What `--filter` is held against.
    pub(crate) fn label(&self) -> String {
        format!("{} {} {} {}", self.work, self.mode, self.nodes, self.policies)
    }

    pub(crate) fn verb(&self, verb: &'static str) -> Self {
        Self { verb, ..self.clone() }
    }

    pub(crate) fn timed(mut self, sample: &Sample) -> Self {
        let tenth = |us: f64| (us * 10.0).round() / 10.0;
        (self.p50_us, self.p99_us) = (tenth(sample.percentile(0.5)), tenth(sample.percentile(0.99)));
        self.calls = sample.len();
        self
    }

    fn key(&self) -> Key {
        (self.work, self.mode, self.nodes, self.policies)
    }
}

// === impl Report ===

impl Report {
    /// Adds a row, and tells it at once.
    pub(crate) fn add(&mut self, row: Row) -> Result<()> {
        writeln!(std::io::stderr(), "measured {} {} {}: {} us", row.label(), row.verb, row.server, row.p50_us)?;
        self.rows.push(row);
        Ok(())
    }

    /// Holds a figure, if there is one, against the most that it may be.
    pub(crate) fn at_most(&mut self, what: &str, most: f64, found: Option<f64>, unit: &str) {
        self.aims.extend(found.map(|found| aim(what, &format!("<= {most}"), found, unit, found <= most)));
    }

    /// As [`Report::at_most`], for what should be large.
    pub(crate) fn at_least(&mut self, what: &str, least: f64, found: Option<f64>, unit: &str) {
        self.aims.extend(found.map(|found| aim(what, &format!(">= {least}"), found, unit, found >= least)));
    }

    /// Prints the table and writes `target/bench/results.json`.
    pub(crate) fn finish(&self) -> Result<()> {
        let path = target().join("bench/results.json");
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(&path, serde_json::to_string_pretty(&self.rows)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        let mut out = std::io::stdout();
        writeln!(
            out,
            "\n{:<18} {:<8} {:>6} {:>8} {:<10} {:<10} {:>11} {:>11} {:>6}",
            "work", "mode", "nodes", "policies", "verb", "server", "p50 us", "p99 us", "calls"
        )?;
        for row in &self.rows {
            let Row { work, mode, nodes, policies, server, verb, p50_us, p99_us, calls } = row;
            writeln!(
                out,
                "{work:<18} {mode:<8} {nodes:>6} {policies:>8} {verb:<10} {server:<10} {p50_us:>11.1} {p99_us:>11.1} {calls:>6}"
            )?;
        }
        writeln!(
            out,
            "\n{:<18} {:<8} {:>6} {:>8} {:>12} {:>12} {:>12} {:>12} {:>14}",
            "both verbs, us", "mode", "nodes", "policies", "plimsoll", "go", "echo", "go/plimsoll", "plimsoll/echo"
        )?;
        for row in self.rows.iter().filter(|row| row.server == "plimsoll" && row.verb == "prioritize") {
            let [own, go, echo] =
                ["plimsoll", "go", "echo"].map(|server| both(&self.rows, &row.key(), server).unwrap_or(f64::NAN));
            let (Row { work, mode, nodes, policies, .. }, faster, slower) = (row, go / own, own / echo);
            writeln!(
                out,
                "{work:<18} {mode:<8} {nodes:>6} {policies:>8} {own:>12.0} {go:>12.0} {echo:>12.0} {faster:>12.2} {slower:>14.2}"
            )?;
        }
        writeln!(out, "\n{:<58} {:>12} {:>12}", "aim", "", "found")?;
        for aim in &self.aims {
            writeln!(out, "{aim}")?;
        }
        Ok(writeln!(out, "\nresults: {}", path.display())?)
    }
}

/// The sum of both verbs' medians, if a server has both rows.
pub(crate) fn both(rows: &[Row], key: &Key, server: &str) -> Option<f64> {
    let own = rows.iter().filter(|row| row.key() == *key && row.server == server);
    let medians: Vec<f64> = own.map(|row| row.p50_us).collect();
    (medians.len() == 2).then(|| medians.iter().sum())
}

fn aim(what: &str, bound: &str, found: f64, unit: &str, is_met: bool) -> String {
    let met = if is_met { "met" } else { "missed" };
    format!("{what:<58} {:>12} {:>12}  {met}", format!("{bound} {unit}"), format!("{found:.2} {unit}"))
}

/// The workspace's target folder.
pub(crate) fn target() -> PathBuf {
    workspace().join("target")
}
