//! A cluster in motion: heartbeats, pods that come and go, and an API server in trouble.

use std::time::Duration;

use plimsoll_harness::Fate;
use plimsoll_random::Random;
use plimsoll_sample::{NODES, node, placed_pod};
use serde_json::json;

use crate::{stage::Stage, tally::Outcome::Done};

const CHANGES_EVERY: Duration = Duration::from_millis(100);

/// The number of pods at one time that nobody asks about.
const PASSING: u32 = 100;

/// Heartbeats of nodes; pods with labels that were never there before, which change and end.
pub(super) fn changes(stage: &Stage) {
    let mut random = Random::new(stage.seed);
    let mut number = 0_u32;
    while stage.gate.enter() {
        while stage.gate.pause(CHANGES_EVERY) {
            number += 1;
            let mut beating = node(random.below(u64::from(NODES)) as u32);
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
pub(super) fn outages(stage: &Stage) {
    let mut round = stage.seed;
    while stage.gate.enter() {
        while stage.gate.pause(stage.outages) {
            // Longer than a leader may go on without renewing its Lease, once in six.
            let lasts = Duration::from_secs([0, 3, 3, 0, 0, 9][(round % 6) as usize]);
            stage.expect_trouble(lasts);
            match round % 6 {
                0 => stage.api.cut_connections(),
                1 => stage.api.fail(500),
                3 => stage.api.compact(),
                4 => stage.api.decide([Fate::CutOff; 2]),
                _ => stage.api.stop_listening(),
            }
            stage.gate.pause(lasts);
            stage.api.recover();
            stage.tally.note("outage of the API server", Done);
            round += 1;
        }
        stage.api.decide([]);
        stage.api.recover();
    }
}
