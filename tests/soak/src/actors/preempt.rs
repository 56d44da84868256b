//! Preemption of pods that are placed, by their UIDs: the answer stays the same.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_harness::Client;
use plimsoll_sample::{PODS, placed_pod, pod};
use serde_json::{Map, Value, json};

use super::requests::ask;
use crate::stage::Stage;

const EVERY: Duration = Duration::from_millis(250);

/// The number of nodes that are offered.
const CANDIDATES: usize = 20;

pub(crate) fn preempt(stage: &Stage) {
    let body = body();
    let mut expected: Option<Value> = None;
    while stage.gate.enter() {
        let mut client: Option<Client> = None;
        while stage.gate.pause(EVERY) {
            let asked = (|| -> Result<Duration> {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(stage.connect()?),
                };
                let (reply, took) = ask(client, "/preempt", &body)?;
                let kept = reply["NodeNameToMetaVictims"].as_object().context("no candidates in the reply")?;
                ensure!(!kept.is_empty() && kept.values().all(|victims| !victims.is_null()), "{reply}");
                let before = expected.get_or_insert_with(|| reply.clone());
                ensure!(*before == reply, "another answer than before: {reply}");
                Ok(took)
            })();
            match asked {
                Ok(took) => stage.tally.ok("preempt", Some(took)),
                Err(error) => {
                    stage.tally.failure("preempt", format!("{error:#}"));
                    client = None;
                }
            }
        }
    }
}

/// A pod of team-a, and one victim on each of some nodes of its pools.
fn body() -> String {
    let mut victims = Map::new();
    for victim in (0..PODS).map(placed_pod).filter(|pod| pod["metadata"]["namespace"] != "ml") {
        if victims.len() < CANDIDATES {
            let node = victim["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
            let uid = &victim["metadata"]["uid"];
            victims.entry(node).or_insert_with(|| json!({"Pods": [{"UID": uid}], "NumPDBViolations": 0}));
        }
    }
    let pod = pod("team-a", "store", 9);
    json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": victims}).to_string()
}
