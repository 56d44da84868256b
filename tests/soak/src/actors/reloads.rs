//! A policy that is replaced every few seconds, by good and bad files, in every way in which files are put.

use std::{
    collections::BTreeSet,
    fs,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use plimsoll_harness::Client;
use plimsoll_reload::{Desk, Way, version};
use plimsoll_sample::pod;
use serde_json::json;

use super::requests::{ask, filtered};
use crate::stage::{RELOAD, Stage};

const SWAP_EVERY: Duration = Duration::from_secs(3);
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A good version must answer after this time; compiling it takes milliseconds.
const TAKES_EFFECT: Duration = Duration::from_secs(20);

/// The reason of the newest answer.
static NEWEST: Mutex<String> = Mutex::new(String::new());

/// Replaces the module and its sidecar by turns: a bad file changes nothing, and each good version has a reason of its
/// own, by which its answers are known.
pub(crate) fn swaps(stage: &Stage) {
    let directory = stage.group(RELOAD);
    let mut desk = Desk::new(&directory, "swapped");
    let sidecar = directory.join("swapped.yaml");
    let mut step = 0_u32;
    while stage.gate.enter() {
        while stage.gate.pause(SWAP_EVERY) {
            step += 1;
            let reason = format!("version {step}");
            let way = Way::ALL[step as usize / 6 % 3];
            let put = (|| -> Result<bool> {
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
                Ok(step.is_multiple_of(3))
            })();
            match put {
                Ok(true) => takes_effect(stage, &reason),
                Ok(false) => stage.tally.ok("reload (bad, half-written or sidecar)", None),
                Err(error) => stage.tally.failure("reload", format!("{error:#}")),
            }
        }
    }
}

fn takes_effect(stage: &Stage, reason: &str) {
    let started = Instant::now();
    while NEWEST.lock().unwrap_or_else(PoisonError::into_inner).as_str() != reason {
        if started.elapsed() > TAKES_EFFECT {
            let newest = NEWEST.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return stage.tally.failure("reload", format!("{reason} does not answer, but {newest}"));
        }
        if !stage.gate.pause(Duration::from_millis(20)) {
            // The asking has stopped as well.
            return;
        }
    }
    stage.tally.ok("reload (good)", None);
}

/// Asks the policy that is replaced: each answer is by one version, and none is by no version.
pub(crate) fn asks(stage: &Stage) {
    let names: Vec<String> = (0..20).map(|at| format!("n{at}")).collect();
    let nodes: Vec<_> = names.iter().map(|name| json!({"metadata": {"name": name}})).collect();
    let body =
        json!({"Pod": pod("web", "site", 1), "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null}).to_string();
    while stage.gate.enter() {
        let mut client: Option<Client> = None;
        while stage.gate.pause(ASK_EVERY) {
            let asked = (|| -> Result<(String, Duration)> {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(stage.connect()?),
                };
                let (reply, took) = ask(client, &format!("/{RELOAD}/filter"), &body)?;
                let answer = filtered(&reply, &names)?;
                let reasons: BTreeSet<&str> = answer.refused.iter().map(|(_, reason)| reason.as_str()).collect();
                let only = reasons.first().copied().unwrap_or_default();
                ensure!(
                    answer.kept.is_empty() && reasons.len() == 1 && only.contains("version "),
                    "not the answer of one version: {reasons:?}, and {} nodes stay",
                    answer.kept.len()
                );
                Ok((only.rsplit(": ").next().unwrap_or(only).to_owned(), took))
            })();
            match asked {
                Ok((reason, took)) => {
                    *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = reason;
                    stage.tally.ok("filter during reloads", Some(took));
                }
                Err(error) => {
                    stage.tally.failure("filter during reloads", format!("{error:#}"));
                    client = None;
                }
            }
        }
    }
}
