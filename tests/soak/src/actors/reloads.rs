//! A policy that is replaced every few seconds, by good and bad files, in every way in which files are put, and is asked
//! meanwhile.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use plimsoll_harness::Client;
use plimsoll_reload::{Desk, Way, version};
use plimsoll_sample::pod;
use serde_json::json;

use super::{requests::filter, steps::repeat};
use crate::{
    stage::{RELOAD, Stage},
    tally::Outcome::Done,
};

const SWAP_EVERY: Duration = Duration::from_secs(3);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A good version must answer after this time; compiling it takes milliseconds.
const TAKES_EFFECT: Duration = Duration::from_secs(20);

/// Replaces the module and its sidecar by turns: a bad file changes nothing, and each good version has a reason of its
/// own, by which its answers are known.
pub(super) fn swaps(stage: &Stage) {
    let directory = stage.group(RELOAD);
    let mut desk = Desk::new(&directory, "swapped");
    let sidecar = directory.join("swapped.yaml");
    let names: Vec<String> = (0..20).map(|at| format!("n{at}")).collect();
    let nodes: Vec<_> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
    let body =
        json!({"Pod": pod("web", "site", 1), "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null}).to_string();
    repeat(
        stage,
        "reload",
        |_| Duration::ZERO,
        |client, step| {
            let (reason, way) = (format!("version {step}"), Way::ALL[step as usize / 6 % 3]);
            let good = version(&reason)?;
            match step % 6 {
                0 => {
                    fs::write(&sidecar, "timeout: 3s\n")?;
                    desk.put(&good, way)?;
                }
                1 => desk.put(&good[..good.len() / 2], way)?,
                2 => fs::write(&sidecar, format!("timeout: 3s\norder: {step}\n"))?,
                3 => desk.put(&good, way)?,
                4 => desk.put(b"\0asm is not all that it takes", way)?,
                _ => fs::write(&sidecar, "mode: [")?,
            }
            let put = Instant::now();
            let mut is_in_force = !step.is_multiple_of(3);
            while !is_in_force || put.elapsed() < SWAP_EVERY {
                let answer = answering(client, &body, &names)?;
                is_in_force |= answer == reason;
                ensure!(is_in_force || put.elapsed() < TAKES_EFFECT, "{reason} does not answer, but {answer}");
                if !stage.gate.pause(ASK_EVERY) {
                    break;
                }
            }
            Ok(Done)
        },
    );
}

/// The reason of the one version that answers about all nodes.
fn answering(client: &mut Client, body: &str, names: &[String]) -> Result<String> {
    let answer = filter(client, &format!("/{RELOAD}/filter"), body, names)?;
    let reasons: BTreeSet<&str> = answer.refused.iter().map(|(_, reason)| reason.as_str()).collect();
    let only = reasons.first().copied().unwrap_or_default();
    let is_of_one = answer.kept.is_empty() && reasons.len() == 1 && only.contains("version ");
    ensure!(is_of_one, "not the answer of one version: {reasons:?}, and {} nodes stay", answer.kept.len());
    Ok(only.rsplit(": ").next().unwrap_or(only).to_owned())
}
