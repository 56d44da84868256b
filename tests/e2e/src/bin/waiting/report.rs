//! The figures of a case: one line for a reader, or one object for scripts.

use std::{collections::BTreeMap, fs, io::Write as _, time::Duration};

use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::lab::Counts;

/// The most characters of a text that are printed.
const LONGEST: usize = 300;

/// How figures are printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
}

/// Named figures, in order.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<(String, Value)>);

// === impl Figures ===

impl Figures {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// Why a pod waits; kube-scheduler's texts can be as long as the list of nodes.
    pub(crate) fn add_text(&mut self, name: &str, text: &str) {
        self.add(name, text.chars().take(LONGEST).collect::<String>());
    }

    /// How many of the pods were bound, and the seconds that those waited.
    pub(crate) fn add_waits(&mut self, whose: &str, waits: &[Option<Duration>]) {
        let mut bound: Vec<f64> = waits.iter().flatten().map(Duration::as_secs_f64).collect();
        bound.sort_by(f64::total_cmp);
        self.add(&format!("{whose}pods"), waits.len());
        self.add(&format!("{whose}unbound"), waits.len() - bound.len());
        if let Some(longest) = bound.last() {
            self.add(&format!("{whose}p50 s"), rounded(bound[bound.len() / 2]));
            self.add(&format!("{whose}max s"), rounded(*longest));
        }
    }

    pub(crate) fn add_counts(&mut self, counts: &Counts) {
        self.add("failed attempts", counts.failed);
        self.add("wakes", counts.wakes);
        self.add("nominations", counts.nominations);
        self.add("evictions", counts.evictions);
        self.add("refused binds", counts.refused);
        self.add("queued by", json!(counts.events));
    }

    /// How often each outcome was seen.
    pub(crate) fn add_outcomes(&mut self, outcomes: impl IntoIterator<Item = String>) {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        outcomes.into_iter().for_each(|outcome| *times.entry(outcome).or_default() += 1);
        self.add("outcomes", json!(times));
    }

    /// Prints them, with the load of the machine: other programs may make them worthless.
    pub(crate) fn print(self, case: &str, output: Output) -> Result<()> {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        let mut out = std::io::stdout();
        match output {
            Output::Text => {
                let figures: Vec<String> = self.0.iter().map(|(name, value)| format!("{name} {value}")).collect();
                writeln!(out, "{case}: {} [load {load}]", figures.join(", "))?;
            }
            Output::Json => {
                let figures: serde_json::Map<String, Value> = self.0.into_iter().collect();
                writeln!(out, "{}", json!({"case": case, "load": load, "figures": figures}))?;
            }
        }
        Ok(())
    }
}

/// Seconds, to the hundredth.
pub(crate) fn rounded(seconds: f64) -> f64 {
    (seconds * 100.0).round() / 100.0
}
