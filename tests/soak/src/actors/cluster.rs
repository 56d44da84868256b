//! A cluster in motion: heartbeats, pods that come and go, and an API server in trouble.

use std::time::Duration;

use plimsoll_harness::Fate;
use plimsoll_sample::{NODES, node, placed_pod};
use serde_json::json;

use crate::stage::Stage;

const CHANGES_EVERY: Duration = Duration::from_millis(100);

/// The number of pods at one time that nobody asks about.
const PASSING: u32 = 100;

/// Heartbeats of nodes; pods with labels that were never there before, which change and end.
pub(crate) fn changes(stage: &Stage) {
    let mut dice = stage.random("changes");
    let mut number = 0_u32;
    while stage.gate.enter() {
        while stage.gate.pause(CHANGES_EVERY) {
            number += 1;
            let mut beating = node(dice.below(u64::from(NODES)) as u32);
            beating["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": number}]);
            // No sample policy reads this, but any policy might.
            beating["metadata"]["annotations"]["example.com/beat"] = number.to_string().into();
            stage.api.put_node(beating);
            stage.api.put_pod(passing(number, "Running"));
            if let Some(old) = number.checked_sub(PASSING / 2) {
                stage.api.put_pod(passing(old, "Terminating"));
            }
            if let Some(old) = number.checked_sub(PASSING) {
                stage.api.delete_pod("passing", &format!("passing-{old}"));
            }
        }
    }
}

/// A pod of a namespace that no correct request is about.
fn passing(number: u32, state: &str) -> serde_json::Value {
    let mut pod = placed_pod(number % NODES);
    pod["metadata"]["name"] = format!("passing-{number}").into();
    pod["metadata"]["namespace"] = "passing".into();
    pod["metadata"]["uid"] = format!("40000000-0000-4000-8000-{number:012}").into();
    pod["metadata"]["labels"] =
        json!({"app": format!("passing-{number}"), "state": state, "build": number.to_string()});
    pod["metadata"]["annotations"] = json!({"example.com/checksum": format!("{number:064x}")});
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": format!("{number}m")}});
    pod
}

/// An outage every so often, each of another kind.
pub(crate) fn outages(stage: &Stage) {
    let mut dice = stage.random("outages");
    let kinds = ["cut", "failing", "away", "compact", "lost answers", "away for long"];
    let mut round = dice.below(kinds.len() as u64) as usize;
    while stage.gate.enter() {
        while stage.gate.pause(stage.outages) {
            let kind = kinds[round % kinds.len()];
            round += 1;
            outage(stage, kind);
            stage.tally.ok("outage of the API server", None);
        }
        stage.api.decide([]);
        stage.api.recover();
    }
}

fn outage(stage: &Stage, kind: &str) {
    let short = Duration::from_secs(3);
    match kind {
        "cut" => {
            stage.expect_trouble(Duration::ZERO);
            stage.api.cut_connections();
        }
        "compact" => {
            stage.expect_trouble(Duration::ZERO);
            stage.api.compact();
        }
        "lost answers" => {
            stage.expect_trouble(short);
            stage.api.decide([Fate::CutOff; 2]);
        }
        "failing" => {
            stage.expect_trouble(short);
            stage.api.fail(500);
            stage.gate.pause(short);
        }
        "away" => {
            stage.expect_trouble(short);
            stage.api.stop_listening();
            stage.gate.pause(short);
        }
        // Longer than a leader may go on without renewing its Lease.
        _ => {
            let long = Duration::from_secs(9);
            stage.expect_trouble(long);
            stage.api.stop_listening();
            stage.gate.pause(long);
        }
    }
    stage.api.recover();
}
