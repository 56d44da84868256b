//! Requests whose answers never change: each must be the same as the first, which is held against the rules.

use std::time::Duration;

use anyhow::{Result, ensure};
use plimsoll_harness::Client;
use plimsoll_sample::{NODES, node, node_name, pod};
use serde_json::json;

use super::requests::{Filtered, all_names, ask, by_name, filtered, scores};
use crate::stage::Stage;

/// Between two rounds of filter and prioritize by name.
const NAMES_EVERY: Duration = Duration::from_millis(60);

/// Between two rounds with whole nodes.
const OBJECTS_EVERY: Duration = Duration::from_millis(400);

/// Between two pods that no policy has ever seen.
const UNSEEN_EVERY: Duration = Duration::from_millis(500);

/// The first of them come faster, so that the memory of answers is full before it is judged whether memory grows.
const FILLING: (u32, Duration) = (1_500, Duration::from_millis(25));

/// The number of rounds after which a client makes a new connection.
const RECONNECT: u32 = 200;

/// In bodies, where a node's heartbeat stands.
const HEARTBEAT: &str = "2026-01-01T00:00:00Z-heartbeat";

/// Filter and prioritize of one pod by names.
pub(crate) fn names(stage: &Stage) {
    let names = all_names();
    let body = by_name(&pod("team-a", "api", 7), &names);
    repeat(
        stage,
        ("filter names", "prioritize names"),
        NAMES_EVERY,
        |_| body.clone(),
        |kept| by_name(&pod("team-a", "api", 7), kept),
    );
}

/// The same with whole nodes, of which some have changed in a way that no policy reads.
pub(crate) fn whole_nodes(stage: &Stage) {
    let pod = pod("team-a", "api", 8);
    let objects = |names: &[String]| {
        let nodes = (0..NODES).filter(|at| names.contains(&node_name(*at)));
        let items: Vec<_> = nodes
            .map(|at| {
                let mut node = node(at);
                node["status"]["conditions"] = json!([{"type": "Ready", "lastHeartbeatTime": HEARTBEAT}]);
                node["metadata"]["annotations"]["example.com/filler"] = "x".repeat(1_000).into();
                node
            })
            .collect();
        json!({"Pod": pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": null}).to_string()
    };
    let all = objects(&all_names());
    let beating =
        |round: u32| all.replacen(HEARTBEAT, &format!("2026-01-01T00:00:00Z-{:09}", round % 50), round as usize % 20);
    repeat(stage, ("filter objects", "prioritize objects"), OBJECTS_EVERY, beating, objects);
}

/// Asks again and again; `first` makes the filter's body of a round, `second` the other's of the nodes that stay.
fn repeat(
    stage: &Stage,
    kinds: (&'static str, &'static str),
    every: Duration,
    first: impl Fn(u32) -> String,
    second: impl Fn(&[String]) -> String,
) {
    let names = all_names();
    let mut expected: Option<(Filtered, Vec<i64>)> = None;
    let mut prioritize = String::new();
    while stage.gate.enter() {
        let mut client: Option<Client> = None;
        let mut round = 0;
        while stage.gate.pause(every) {
            if round % RECONNECT == 0 {
                client = None;
            }
            round += 1;
            let asked = (|| -> Result<()> {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(stage.connect()?),
                };
                let (reply, took) = ask(client, "/filter", &first(round))?;
                let answer = filtered(&reply, &names)?;
                if let Some((filter, _)) = &expected {
                    ensure!(
                        answer == *filter,
                        "another answer than before: {} of {} stay",
                        answer.kept.len(),
                        filter.kept.len()
                    );
                }
                stage.tally.ok(kinds.0, Some(took));
                if prioritize.is_empty() {
                    follows_the_rules(&answer)?;
                    prioritize = second(&answer.kept);
                }
                let (reply, took) = ask(client, "/prioritize", &prioritize)?;
                let points = scores(&reply, &answer.kept)?;
                if let Some((_, before)) = &expected {
                    ensure!(points == *before, "other scores than before");
                }
                stage.tally.ok(kinds.1, Some(took));
                expected.get_or_insert((answer, points));
                Ok(())
            })();
            if let Err(error) = asked {
                stage.tally.failure(kinds.0, format!("{error:#}"));
                client = None;
            }
        }
    }
}

/// A pod of team-a may run in the pool of its tenant and in the shared one: nodes 0 to 109.
fn follows_the_rules(answer: &Filtered) -> Result<()> {
    let wanted: Vec<String> = (0..110).map(node_name).collect();
    ensure!(answer.kept == wanted, "tenant-pool lets {} nodes through", answer.kept.len());
    Ok(())
}

/// Pods whose namespace, labels and image no policy has ever seen: nothing is remembered for them.
pub(crate) fn unseen(stage: &Stage) {
    let names = all_names();
    let mut number = 0_u32;
    while stage.gate.enter() {
        let mut client: Option<Client> = None;
        while stage.gate.pause(if number < FILLING.0 { FILLING.1 } else { UNSEEN_EVERY }) {
            number += 1;
            let mut pod = pod("web", "site", number);
            pod["metadata"]["namespace"] = format!("namespace-{number}").into();
            pod["metadata"]["labels"]["app"] = format!("app-{number}").into();
            pod["spec"]["containers"][0]["image"] = format!("registry.example.com/unseen-{number}:1").into();
            let asked = (|| -> Result<Duration> {
                let client = match &mut client {
                    Some(client) => client,
                    none => none.insert(stage.connect()?),
                };
                let (reply, took) = ask(client, "/filter", &by_name(&pod, &names))?;
                let answer = filtered(&reply, &names)?;
                // No tenant's pool lets a stranger in: the shared nodes and those with GPUs stay.
                ensure!(answer.kept.len() == 100, "{} nodes stay", answer.kept.len());
                let (reply, _) = ask(client, "/prioritize", &by_name(&pod, &answer.kept))?;
                scores(&reply, &answer.kept)?;
                Ok(took)
            })();
            match asked {
                Ok(took) => stage.tally.ok("unseen pods", Some(took)),
                Err(error) => {
                    stage.tally.failure("unseen pods", format!("{error:#}"));
                    client = None;
                }
            }
        }
    }
}
