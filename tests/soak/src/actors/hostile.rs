//! A policy of a group of its own that does harm if it can: one hostile guest after another.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use plimsoll_core::Verb;
use plimsoll_guests::{Guest, hostile};
use plimsoll_harness::Client;
use serde_json::{Value, json};

use super::requests::all_names;
use crate::stage::{HOSTILE, Stage};

const EVERY: Duration = Duration::from_secs(2);

/// More calls than open its circuit.
const CALLS: u32 = 7;

/// In shadow each is asked; otherwise a trial refuses those that would fail every call.
const HOW: [&str; 3] = ["mode: shadow", "onError: fail", "onError: ignore"];

/// Every status that plimsoll may answer with.
const STATUSES: [u16; 7] = [200, 400, 404, 429, 500, 503, 504];

pub(crate) fn guests(stage: &Stage) {
    let mut turn = 0;
    while stage.gate.enter() {
        let mut client: Option<Client> = None;
        while stage.gate.pause(EVERY) {
            let guest = &hostile()[turn % hostile().len()];
            let how = HOW[turn / hostile().len() % HOW.len()];
            turn += 1;
            let done = (|| -> Result<()> {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(stage.connect()?),
                };
                put(stage, guest, how)?;
                for _ in 0..CALLS {
                    call(stage, client, guest)?;
                    if !stage.gate.pause(Duration::from_millis(100)) {
                        break;
                    }
                }
                Ok(())
            })();
            match done {
                Ok(()) => stage.tally.ok("hostile guest", None),
                Err(error) => {
                    stage.tally.failure("hostile guest", format!("{}: {error:#}", guest.name));
                    client = None;
                }
            }
        }
    }
}

fn put(stage: &Stage, guest: &Guest, how: &str) -> Result<()> {
    let folder = stage.group(HOSTILE);
    fs::write(folder.join("guest.yaml"), format!("{how}\ntimeout: 50ms\n"))?;
    fs::write(folder.join(".new"), &guest.bytes)?;
    Ok(fs::rename(folder.join(".new"), folder.join("guest.wasm"))?)
}

/// Any answer will do, so long as it has a status of ours and is JSON.
fn call(stage: &Stage, client: &mut Client, guest: &Guest) -> Result<()> {
    let pod = json!({"metadata": {"name": "hostile", "namespace": "ml", "uid": "hostile"}, "spec": {"containers": []}});
    let (path, body) = match guest.verb {
        Verb::Filter | Verb::Validate | Verb::Score | Verb::Rank => {
            let scores = matches!(guest.verb, Verb::Score | Verb::Rank);
            let path = if scores { "prioritize" } else { "filter" };
            (path, json!({"Pod": pod, "Nodes": null, "NodeNames": &all_names()[..4]}))
        }
        Verb::Preempt => {
            let victims = json!({"node-060": {"Pods": [], "NumPDBViolations": 0}});
            ("preempt", json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": victims}))
        }
        Verb::Bind => {
            stage.api.put_pod(pod);
            ("bind", json!({"PodName": "hostile", "PodNamespace": "ml", "PodUID": "hostile", "Node": "node-160"}))
        }
    };
    let (status, reply) = client.ask(&format!("/{HOSTILE}/{path}"), body.to_string().as_bytes())?;
    let is_json = serde_json::from_slice::<Value>(reply).is_ok();
    ensure!(STATUSES.contains(&status) && is_json, "status {status}: {}", String::from_utf8_lossy(reply));
    Ok(())
}
