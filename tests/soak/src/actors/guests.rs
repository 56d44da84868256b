//! Guests that do harm, and guests that fill memory which has a bound, so that it is full before growth is judged.

use std::{fs, time::Duration};

use anyhow::{Context, ensure};
use plimsoll_core::Verb;
use plimsoll_guests::hostile;
use plimsoll_sample::{node_name, pod};
use serde_json::{Value, json};

use super::{
    requests::{all_names, by_name, filter},
    steps::repeat,
};
use crate::{
    modules::filling,
    stage::{DEEP, HOSTILE, Stage, WIDE},
    tally::Outcome::Done,
};

/// More calls than open a circuit.
const CALLS: u32 = 7;

/// In shadow each is asked; otherwise a trial refuses those that would fail every call.
const HOW: [&str; 3] = ["mode: shadow", "onError: fail", "onError: ignore"];

/// Every status that plimsoll may answer with.
const STATUSES: [u16; 7] = [200, 400, 404, 429, 500, 503, 504];

/// One hostile guest after another in a group of its own. Any answer will do, so long as it has a status of ours and is
/// JSON.
pub(super) fn hostile_ones(stage: &Stage) {
    let folder = stage.group(HOSTILE);
    let pod = json!({"metadata": {"name": "hostile", "namespace": "ml", "uid": "hostile"}, "spec": {"containers": []}});
    repeat(
        stage,
        "hostile guest",
        |_| Duration::from_secs(2),
        |client, number| {
            let guest = &hostile()[number as usize % hostile().len()];
            let how = HOW[number as usize / hostile().len() % HOW.len()];
            fs::write(folder.join("guest.yaml"), format!("{how}\ntimeout: 50ms\n"))?;
            fs::write(folder.join(".new"), &guest.bytes)?;
            fs::rename(folder.join(".new"), folder.join("guest.wasm"))?;
            let by_names = json!({"Pod": pod, "Nodes": null, "NodeNames": &all_names()[..4]});
            let victims = json!({"node-060": {"Pods": [], "NumPDBViolations": 0}});
            let (path, body) = match guest.verb {
                Verb::Filter | Verb::Validate => ("filter", by_names),
                Verb::Score | Verb::Rank => ("prioritize", by_names),
                Verb::Preempt => {
                    ("preempt", json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": victims}))
                }
                Verb::Bind => {
                    stage.api.put_pod(pod.clone());
                    (
                        "bind",
                        json!({"PodName": "hostile", "PodNamespace": "ml", "PodUID": "hostile", "Node": "node-160"}),
                    )
                }
            };
            for _ in 0..CALLS {
                let (status, reply) = client.ask(&format!("/{HOSTILE}/{path}"), body.to_string().as_bytes())?;
                let is_json = serde_json::from_slice::<Value>(reply).is_ok();
                let text = || String::from_utf8_lossy(reply);
                ensure!(STATUSES.contains(&status) && is_json, "{}: status {status}: {}", guest.name, text());
                if !stage.gate.pause(Duration::from_millis(100)) {
                    break;
                }
            }
            Ok(Done)
        },
    );
}

/// Asks a policy that fills the stack of its thread in every other call.
///
/// A stack keeps its pages. Tokio gives work to one thread after another, so with the hostile guests alone one stack
/// after another would fill for hours, and that would look like a leak.
pub(super) fn fill_stacks(stage: &Stage) {
    let names = [node_name(0)];
    // Many of the first calls for each thread, whichever gets the next one.
    let pace = |number| Duration::from_millis(if number < 1_000 { 25 } else { 1_000 });
    repeat(stage, "stack filled", pace, |client, number| {
        let mut pod = pod("web", "site", 1);
        pod["spec"]["priority"] = number.into();
        let answer = filter(client, &format!("/{DEEP}/filter"), &by_name(&pod, &names), &names);
        let answer = answer.context("a full stack is to be ignored")?;
        ensure!(answer.kept == names, "the node does not stay: {:?}", answer.refused);
        Ok(Done)
    });
}

/// Replaces a policy by modules that write to all memory that an unused slot of the instance pool keeps.
///
/// A slot keeps up to 256 KiB once a guest has written that much in it, and only a few guests do. A new module gets the
/// slot that was unused for longest, so without these modules one slot after another would fill for hours.
pub(super) fn fill_slots(stage: &Stage) {
    let names = [node_name(0)];
    // Several times as many modules at first as the pool has slots that keep memory.
    let pace = |number| Duration::from_millis(if number < 100 { 500 } else { 20_000 });
    repeat(stage, "slot filled", pace, |client, number| {
        fs::write(stage.group(WIDE).join("wide.wasm"), filling(number))?;
        let answer = filter(client, &format!("/{WIDE}/filter"), &by_name(&pod("web", "site", 1), &names), &names);
        let answer = answer.context("one version or the other must answer")?;
        ensure!(answer.kept == names, "the node does not stay: {:?}", answer.refused);
        Ok(Done)
    });
}
