//! One table for a reader, one file for scripts.

use std::{
    fmt::Write as _,
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
    /// The source of the nodes: `names`, `objects`, or `none` where it does not matter.
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
pub(crate) struct Aim {
    pub(crate) what: &'static str,
    pub(crate) bound: String,
    pub(crate) found: String,
    pub(crate) met: bool,
}

/// All that one run measures.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    aims: Vec<Aim>,
}

/// filter and prioritize of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Both {
    pub(crate) work: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) nodes: usize,
    pub(crate) policies: usize,
}

// === impl Row ===

impl Row {
    /// A row of plimsoll's own; peers set [`Row::server`].
    pub(crate) fn new(work: &'static str, mode: &'static str, nodes: usize, policies: usize) -> Self {
        let (p50_us, p99_us) = (f64::NAN, f64::NAN);
        Self { work, mode, nodes, policies, server: "plimsoll", verb: "filter", p50_us, p99_us, calls: 0 }
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
}

// === impl Both ===

impl Both {
    /// The sum of both medians, if both were measured.
    pub(crate) fn of(&self, report: &Report, server: &str) -> Option<f64> {
        let is_own = |row: &&Row| {
            (row.work, row.mode, row.nodes, row.policies, row.server)
                == (self.work, self.mode, self.nodes, self.policies, server)
        };
        let medians: Vec<f64> = report.rows.iter().filter(is_own).map(|row| row.p50_us).collect();
        (medians.len() == 2).then(|| medians.iter().sum())
    }

    /// The time of another server as a multiple of plimsoll's.
    pub(crate) fn ratio(&self, report: &Report, server: &str) -> Option<f64> {
        Some(self.of(report, server)? / self.of(report, "plimsoll")?)
    }

    /// The time of plimsoll as a multiple of another server's.
    pub(crate) fn over(&self, report: &Report, server: &str) -> Option<f64> {
        Some(1.0 / self.ratio(report, server)?)
    }

    /// plimsoll, Go and the echo in microseconds, Go against plimsoll, and plimsoll against the echo.
    pub(crate) fn figures(&self, report: &Report) -> [String; 5] {
        let [own, go, echo] = ["plimsoll", "go", "echo"].map(|server| show(self.of(report, server), 0));
        [own, go, echo, show(self.ratio(report, "go"), 2), show(self.over(report, "echo"), 2)]
    }

    /// plimsoll's time against that of another row.
    pub(crate) fn against(&self, report: &Report, other: &Self) -> Option<f64> {
        Some(self.of(report, "plimsoll")? / other.of(report, "plimsoll")?)
    }
}

// === impl Report ===

impl Report {
    /// Adds a row, and tells it at once.
    pub(crate) fn add(&mut self, row: Row) -> Result<()> {
        let Row { work, mode, nodes, policies, verb, server, .. } = &row;
        let line = format!("measured {work} {mode} {nodes} {policies} {verb} {server}");
        writeln!(std::io::stderr(), "{line}: {} us", row.p50_us)?;
        self.rows.push(row);
        Ok(())
    }

    /// Holds a figure, if there is one, against the most that it may be; `show` turns both into text.
    pub(crate) fn at_most(&mut self, what: &'static str, most: f64, found: Option<f64>, show: impl Fn(f64) -> String) {
        let Some(found) = found else { return };
        self.aims.push(Aim { what, bound: format!("<= {}", show(most)), found: show(found), met: found <= most });
    }

    /// As [`Report::at_most`], for what should be large.
    pub(crate) fn at_least(
        &mut self,
        what: &'static str,
        least: f64,
        found: Option<f64>,
        show: impl Fn(f64) -> String,
    ) {
        let Some(found) = found else { return };
        self.aims.push(Aim { what, bound: format!(">= {}", show(least)), found: show(found), met: found >= least });
    }

    /// Prints the table and writes `target/bench/results.json`.
    pub(crate) fn finish(&self) -> Result<()> {
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
        self.push_sums(&mut table)?;
        writeln!(table, "\n{:<58} {:>12} {:>12}", "aim", "", "found")?;
        for Aim { what, bound, found, met } in &self.aims {
            let met = if *met { "met" } else { "missed" };
            writeln!(table, "{what:<58} {bound:>12} {found:>12}  {met}")?;
        }
        Ok(table)
    }

    /// Both verbs together, and how the servers compare.
    fn push_sums(&self, table: &mut String) -> Result<()> {
        writeln!(
            table,
            "\n{:<18} {:<8} {:>6} {:>8} {:>12} {:>12} {:>12} {:>12} {:>14}",
            "both verbs, us", "mode", "nodes", "policies", "plimsoll", "go", "echo", "go/plimsoll", "plimsoll/echo"
        )?;
        for both in self.both() {
            let Both { work, mode, nodes, policies } = both;
            let [own, go, echo, faster, slower] = both.figures(self);
            writeln!(
                table,
                "{work:<18} {mode:<8} {nodes:>6} {policies:>8} {own:>12} {go:>12} {echo:>12} {faster:>12} {slower:>14}"
            )?;
        }
        Ok(())
    }

    /// Every row that has both verbs.
    pub(crate) fn both(&self) -> impl Iterator<Item = Both> {
        let of_both = |row: &&Row| row.server == "plimsoll" && row.verb == "prioritize";
        let both = |row: &Row| Both { work: row.work, mode: row.mode, nodes: row.nodes, policies: row.policies };
        self.rows.iter().filter(of_both).map(both)
    }
}

/// A figure with this many decimals, or a dash.
fn show(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.decimals$}"))
}

/// The workspace's target folder.
pub(crate) fn target() -> PathBuf {
    workspace().join("target")
}
