//! The gain of each speed mechanism: one build, whole and without each of its mechanisms, call by call.
//!
//! A build that can be measured so takes the names of mechanisms from the environment variable [`WITHOUT`] and leaves
//! them off. The product cannot: `tests/bench/mechanisms.patch` makes such a build.

use std::{fmt::Write as _, io::Write as _, path::Path, time::Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use plimsoll_harness::{Client, Peer, samples};

use crate::{
    interval::{Interval, median},
    modules::Modules,
    plan::Plan,
    report,
    servers::{Setting, beside},
    toggles::Toggles,
    wire::{CHANGED, CLUSTER, NODE_BYTES, VERBS, window},
    world,
};

/// Names the mechanisms that a server leaves off, with commas between them.
const WITHOUT: &str = "PLIMSOLL_WITHOUT";

/// The number of times that servers are started, and of rounds between two starts.
const STARTS: usize = 2;
const ROUNDS_PER_START: usize = 10;

/// The same build twice: the second one shows how far apart two processes are.
const CONTROL: &str = "(nothing)";

/// One row: the difference between its calls, and the number of them in a round.
#[derive(Debug, Clone, Copy)]
struct Row {
    work: &'static str,
    mode: &'static str,
    nodes: usize,
    calls: usize,
}

/// Round by round, the median time of each server.
type Rounds = Vec<Vec<f64>>;

/// Measures every row that the plan wants, and prints a table of them.
pub(crate) fn measure(plan: &Plan, modules: &Modules, mechanisms: &[String]) -> Result<()> {
    let row = |work, mode, nodes, calls| Row { work, mode, nodes, calls };
    let names = [
        row("steady", "names", 500, 30),
        row("steady", "names", CLUSTER, 20),
        row("window", "names", 500, 30),
        row("unseen", "names", 500, 10),
        row("unseen", "names", CLUSTER, 10),
    ];
    let whole = [row("steady", "objects", CLUSTER, 1), row("changed", "objects", CLUSTER, 1)];
    let mut table = String::new();
    for (rows, samples, snapshot) in [
        (&names[..], samples::ten(), true),
        (&[row("ranks", "names", CLUSTER, 10)], samples::five_twice(), true),
        (&whole, samples::ten(), false),
    ] {
        let wanted: Vec<Row> = rows.iter().filter(|row| plan.wants(&row.label())).copied().collect();
        if wanted.is_empty() {
            continue;
        }
        let snapshot = snapshot.then(|| world::snapshot(CLUSTER));
        let setting = Setting::new(modules, &samples, snapshot.as_ref().map(String::as_bytes))?;
        let mut rounds: Vec<[Rounds; 2]> = wanted.iter().map(|_| <_>::default()).collect();
        // Started again for each row: data that one leaves in the caches would serve the next.
        for (row, rounds) in wanted.iter().zip(&mut rounds) {
            for _ in 0..STARTS {
                row.measure(&mut start(&setting, mechanisms)?, rounds)?;
            }
        }
        for (row, rounds) in wanted.iter().zip(&rounds) {
            row.report(mechanisms, rounds, &mut table)?;
        }
    }
    let path = report::target().join("bench/mechanisms.md");
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    std::fs::write(&path, &table).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(writeln!(std::io::stdout(), "{table}")?)
}

/// A server with everything, another one, and one without each mechanism.
fn start(setting: &Setting, mechanisms: &[String]) -> Result<Vec<(Client, Peer)>> {
    let binary = beside("plimsoll")?;
    let all = ["", ""].into_iter().chain(mechanisms.iter().map(String::as_str));
    let peers =
        all.map(|without| setting.serve_with(&binary, &[], &[(WITHOUT, without)])).collect::<Result<Vec<_>>>()?;
    peers.iter().try_for_each(Peer::wait_until_ready)?;
    // Only now: a connection without a request is closed after some seconds.
    peers.into_iter().map(|peer| Ok((Client::connect(peer.address)?, peer))).collect()
}

// === impl Row ===

impl Row {
    fn label(&self) -> String {
        format!("{} {} {}", self.work, self.mode, self.nodes)
    }

    fn measure(&self, servers: &mut [(Client, Peer)], rounds: &mut [Rounds; 2]) -> Result<()> {
        let mut next = self.bodies()?;
        for (verb, rounds) in VERBS.into_iter().zip(rounds) {
            let path = format!("/{verb}");
            for round in 0..=ROUNDS_PER_START {
                let mut times = vec![Vec::new(); servers.len()];
                for call in 0..self.calls {
                    let body = next();
                    // Each server comes first, and after each of the others, about as often.
                    let (first, count) = (round * self.calls + call, servers.len());
                    for at in 0..count {
                        let at = if call % 2 == 0 { (first + at) % count } else { (first + count - at) % count };
                        let started = Instant::now();
                        servers[at].0.post(&path, &body)?;
                        times[at].push(started.elapsed().as_secs_f64() * 1e6);
                    }
                }
                // The first round warms up.
                if round > 0 {
                    rounds.push(times.iter().map(|times| median(times)).collect());
                }
            }
        }
        Ok(())
    }

    /// The bodies of its calls.
    fn bodies(&self) -> Result<Box<dyn FnMut() -> Bytes>> {
        let Self { work, mode, nodes, .. } = *self;
        // No row has a pod of another row, nor of an earlier run.
        let mut number = nodes * 1_000;
        if mode == "names" {
            let body = world::names_body(nodes);
            return Ok(Box::new(move || {
                number += 1;
                match work {
                    "window" => window(number, nodes),
                    "unseen" => world::names_body_of(&world::unseen_pod(number), 0..nodes),
                    _ => body.clone(),
                }
            }));
        }
        let mut body = Toggles::new(world::objects_body(nodes, nodes * NODE_BYTES).to_vec())?;
        let steady = body.body();
        Ok(Box::new(move || {
            if work == "steady" {
                return steady.clone();
            }
            body.toggle(nodes / CHANGED);
            body.body()
        }))
    }

    /// Adds lines of a Markdown table.
    fn report(&self, mechanisms: &[String], rounds: &[Rounds; 2], table: &mut String) -> Result<()> {
        for (verb, rounds) in VERBS.into_iter().zip(rounds) {
            let with: Vec<f64> = rounds.iter().map(|round| round[0]).collect();
            let names = std::iter::once(CONTROL).chain(mechanisms.iter().map(String::as_str));
            for (at, name) in names.enumerate() {
                let ratios = rounds.iter().map(|round| round[at + 1] / round[0]).collect();
                let ratio = Interval::of(ratios).context("too few rounds")?;
                let line = format!("| {name} | {} | {verb} | {:.0} | {ratio} |", self.label(), median(&with));
                writeln!(std::io::stderr(), "{line}")?;
                writeln!(table, "{line}")?;
            }
        }
        Ok(())
    }
}
