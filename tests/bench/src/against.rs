//! Two builds of plimsoll beside each other: is the new one slower?
//!
//! Three servers run at once: the new build, the old one, and the new one once more, as a control. Each call goes to
//! all of them with the same body, one right after another, in an order that changes. Calls make rounds; a round has a
//! ratio of medians. Servers are restarted several times, since two processes of one build differ for as long as
//! they live.

mod trio;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use plimsoll_harness::samples;
use serde::Serialize;

use self::trio::{Builds, Rounds, Trio};
use crate::{
    changed::Changing,
    interval::{self, Interval},
    modules::Modules,
    plan::Plan,
    report,
    servers::Setting,
    wire::{CLUSTER, NODE_BYTES, VERBS, window},
    world,
};

/// Of the old build's time, the most that the new one may take.
const MOST: f64 = 1.05;

/// The number of times that servers are started for a row, and of rounds between two starts.
const STARTS: usize = 4;
const ROUNDS_PER_START: usize = 6;

/// One verb of one row.
#[derive(Debug, Serialize)]
struct Line {
    row: String,
    verb: &'static str,
    rounds: usize,
    new_us: f64,
    old_us: f64,
    /// The new build's time in that of the old one.
    new_to_old: Interval,
    /// The same build against itself.
    control: Interval,
    is_slower: bool,
}

/// Compares the build beside this program with another binary; 1 if it is slower.
pub(crate) fn measure(plan: &Plan, modules: &Modules, old: &Path) -> Result<ExitCode> {
    ensure!(old.exists(), "--against: {} does not exist", old.display());
    let builds = Builds::of(old)?;
    let mut lines = Vec::new();
    for (work, mode, nodes) in [
        ("steady", "names", 500),
        ("steady", "names", CLUSTER),
        ("window", "names", 500),
        ("unseen", "names", 500),
        ("unseen", "names", CLUSTER),
        ("changed", "names", CLUSTER),
        ("cold", "names", CLUSTER),
        ("steady", "objects", 1_000),
    ] {
        let row = format!("{work} {mode} {nodes} 10");
        if plan.wants(&row) {
            add(&row, compare(plan, modules, &builds, (work, mode, nodes))?, &mut lines)?;
        }
    }
    finish(&lines)
}

/// All rounds of one row.
fn compare(
    plan: &Plan,
    modules: &Modules,
    builds: &Builds,
    (work, mode, nodes): (&str, &str, usize),
) -> Result<[Rounds; 2]> {
    let of_cluster = || Setting::new(modules, &samples::ten(), Some(world::snapshot(CLUSTER).as_bytes()));
    match (work, mode) {
        ("changed", _) => changed(plan, &Setting::new(modules, &samples::ten(), None)?, builds),
        ("cold", _) => cold(plan, &of_cluster()?, builds),
        (_, "objects") => {
            let body = world::objects_body(nodes, nodes * NODE_BYTES);
            by_call(plan, &Setting::new(modules, &samples::ten(), None)?, builds, 20, || body.clone())
        }
        _ => {
            let (body, mut number) = (world::names_body(nodes), 0);
            let calls = if work == "unseen" { 30 } else { 100 };
            by_call(plan, &of_cluster()?, builds, calls, || {
                number += 1;
                match work {
                    "window" => window(number, nodes),
                    "unseen" => world::names_body_of(&world::unseen_pod(number), 0..nodes),
                    _ => body.clone(),
                }
            })
        }
    }
}

/// Rounds of this many calls of each verb, each with the next body.
fn by_call(
    plan: &Plan,
    setting: &Setting,
    builds: &Builds,
    calls: usize,
    mut body: impl FnMut() -> Bytes,
) -> Result<[Rounds; 2]> {
    let calls = plan.times(calls);
    let mut rounds = VERBS.map(|_| Rounds::default());
    for _ in 0..STARTS {
        let mut trio = Trio::start(setting, builds, &[])?;
        for verb in VERBS {
            trio.agree(verb, &body())?;
            (0..calls).try_for_each(|_| trio.call(verb, &body()).map(drop))?;
        }
        for _ in 0..ROUNDS_PER_START {
            for (verb, rounds) in VERBS.into_iter().zip(&mut rounds) {
                let times = (0..calls).map(|_| trio.call(verb, &body())).collect::<Result<Vec<_>>>()?;
                rounds.add(&times);
            }
        }
    }
    Ok(rounds)
}

/// The first calls of each verb after 1 % of the nodes has changed.
fn changed(plan: &Plan, setting: &Setting, builds: &Builds) -> Result<[Rounds; 2]> {
    let body = world::names_body(CLUSTER);
    let mut rounds = VERBS.map(|_| Rounds::default());
    for _ in 0..STARTS {
        let mut changing = Changing::start()?;
        let mut trio = Trio::start(setting, builds, &["--kubeconfig", &changing.kubeconfig()?])?;
        VERBS.into_iter().try_for_each(|verb| trio.agree(verb, &body))?;
        for _ in 0..ROUNDS_PER_START {
            let mut times = VERBS.map(|_| Vec::new());
            for _ in 0..plan.times(5) {
                VERBS.into_iter().try_for_each(|verb| trio.call(verb, &body).map(drop))?;
                changing.change(&mut trio.clients())?;
                for (verb, times) in VERBS.into_iter().zip(&mut times) {
                    times.push(trio.call(verb, &body)?);
                }
            }
            rounds.iter_mut().zip(&times).for_each(|(rounds, times)| rounds.add(times));
        }
    }
    Ok(rounds)
}

/// The first call of each verb after a start.
fn cold(plan: &Plan, setting: &Setting, builds: &Builds) -> Result<[Rounds; 2]> {
    let body = world::names_body(CLUSTER);
    let mut rounds = VERBS.map(|_| Rounds::default());
    for _ in 0..plan.times(STARTS * ROUNDS_PER_START).max(20) {
        let mut trio = Trio::start(setting, builds, &[])?;
        for (verb, rounds) in VERBS.into_iter().zip(&mut rounds) {
            rounds.add(&[trio.call(verb, &body)?]);
        }
    }
    Ok(rounds)
}

fn add(row: &str, rounds: [Rounds; 2], lines: &mut Vec<Line>) -> Result<()> {
    for (verb, rounds) in VERBS.into_iter().zip(rounds) {
        let Rounds { new, old, again } = &rounds;
        let ratios = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one / other).collect();
        let new_to_old = Interval::of(ratios(new, old)).context("too few rounds")?;
        let control = Interval::of(ratios(again, new)).context("too few rounds")?;
        let line = Line {
            row: row.to_owned(),
            verb,
            rounds: new.len(),
            new_us: interval::median(new),
            old_us: interval::median(old),
            is_slower: new_to_old.low > MOST,
            new_to_old,
            control,
        };
        writeln!(std::io::stderr(), "compared {row} {verb}: {new_to_old}, control {control}")?;
        lines.push(line);
    }
    Ok(())
}

/// Prints the table, writes `target/bench/against.json`, and says whether a row is slower.
fn finish(lines: &[Line]) -> Result<ExitCode> {
    let path: PathBuf = report::target().join("bench/against.json");
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    std::fs::write(&path, serde_json::to_string_pretty(lines)? + "\n")
        .with_context(|| format!("cannot write {}", path.display()))?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "\n{:<24} {:<10} {:>6} {:>10} {:>10}  {:<22} {:<22}",
        "row", "verb", "rounds", "new us", "old us", "new/old (95 %)", "control (95 %)"
    )?;
    for Line { row, verb, rounds, new_us, old_us, new_to_old, control, is_slower } in lines {
        let slower = if *is_slower { "slower" } else { "" };
        let (ratio, control) = (new_to_old.to_string(), control.to_string());
        writeln!(
            out,
            "{row:<24} {verb:<10} {rounds:>6} {new_us:>10.1} {old_us:>10.1}  {ratio:<22} {control:<22} {slower}"
        )?;
    }
    let slower = lines.iter().filter(|line| line.is_slower).count();
    writeln!(out, "\n{slower} of {} lie wholly above {MOST}; results: {}", lines.len(), path.display())?;
    Ok(ExitCode::from(u8::from(slower > 0)))
}
