//! Requests whose answers never change: each must be the same as the first, which is held against the rules.

use std::time::Duration;

use anyhow::{Context, ensure};
use plimsoll_sample::{NODES, PODS, node, node_name, placed_pod, pod};
use serde_json::{Map, Value, json};

use super::{
    requests::{Filtered, all_names, ask, by_name, filter, prioritize},
    steps::repeat,
};
use crate::{stage::Stage, tally::Outcome::Done};

/// Unseen pods come faster at first, so that the decision cache is full before it is judged whether memory grows.
const FILLING: u32 = 1_500;

/// The number of nodes that are offered for preemption.
const CANDIDATES: usize = 20;

/// In bodies, where a node's heartbeat stands.
const HEARTBEAT: &str = "2026-01-01T00:00:00Z-heartbeat";

/// Filter and prioritize of one pod by names.
pub(super) fn names(stage: &Stage) {
    let body = |names: &[String]| by_name(&pod("team-a", "api", 7), names);
    let all = body(&all_names());
    both_verbs(stage, "names", Duration::from_millis(60), |_| all.clone(), body);
}

/// The same with whole nodes, of which some have changed in a way that no policy reads.
pub(super) fn whole_nodes(stage: &Stage) {
    let pod = pod("team-a", "api", 8);
    let objects = |names: &[String]| {
        let nodes = (0..NODES).filter(|at| names.contains(&node_name(*at))).map(|at| {
            let mut node = node(at);
            node["status"]["conditions"] = json!([{"type": "Ready", "lastHeartbeatTime": HEARTBEAT}]);
            node["metadata"]["annotations"]["example.com/filler"] = "x".repeat(1_000).into();
            node
        });
        json!({"Pod": pod, "Nodes": {"metadata": {}, "items": nodes.collect::<Vec<_>>()}, "NodeNames": null})
            .to_string()
    };
    let all = objects(&all_names());
    let beating =
        |round: u32| all.replacen(HEARTBEAT, &format!("2026-01-01T00:00:00Z-{:09}", round % 50), round as usize % 20);
    both_verbs(stage, "whole nodes", Duration::from_millis(400), beating, objects);
}

/// Asks again and again; `first` makes the filter's body of a step, `second` the other's of the nodes that stay.
fn both_verbs(
    stage: &Stage,
    kind: &'static str,
    every: Duration,
    first: impl Fn(u32) -> String,
    second: impl Fn(&[String]) -> String,
) {
    let names = all_names();
    // A pod of team-a may run in the pool of its tenant and in the shared one.
    let pool: Vec<String> = (0..110).map(node_name).collect();
    let scored = second(&pool);
    let mut expected: Option<(Filtered, Vec<i64>)> = None;
    repeat(
        stage,
        kind,
        |_| every,
        |client, number| {
            let answer = filter(client, "/filter", &first(number), &names)?;
            ensure!(answer.kept == pool, "tenant-pool lets {} nodes through", answer.kept.len());
            let answers = (answer, prioritize(client, &scored, &pool)?);
            ensure!(*expected.get_or_insert_with(|| answers.clone()) == answers, "other reasons or scores than before");
            Ok(Done)
        },
    );
}

/// Pods whose namespace, labels and image no policy has ever seen: nothing is remembered for them.
pub(super) fn unseen(stage: &Stage) {
    let names = all_names();
    let pace = |number| Duration::from_millis(if number < FILLING { 25 } else { 500 });
    repeat(stage, "unseen pods", pace, |client, number| {
        let mut pod = pod("web", "site", number);
        pod["metadata"]["namespace"] = format!("namespace-{number}").into();
        pod["metadata"]["labels"]["app"] = format!("app-{number}").into();
        pod["spec"]["containers"][0]["image"] = format!("registry.example.com/unseen-{number}:1").into();
        let answer = filter(client, "/filter", &by_name(&pod, &names), &names)?;
        // No tenant's pool lets a stranger in: the shared nodes and those with GPUs stay.
        ensure!(answer.kept.len() == 100, "{} nodes stay", answer.kept.len());
        prioritize(client, &by_name(&pod, &answer.kept), &answer.kept)?;
        Ok(Done)
    });
}

/// Preemption of placed pods by their UIDs: a pod of team-a, and one victim on each of some nodes of its pools.
pub(super) fn preempt(stage: &Stage) {
    let mut victims = Map::new();
    for victim in (0..PODS).map(placed_pod).filter(|pod| pod["metadata"]["namespace"] != "ml") {
        if victims.len() < CANDIDATES {
            let node = victim["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
            let uid = &victim["metadata"]["uid"];
            victims.entry(node).or_insert_with(|| json!({"Pods": [{"UID": uid}], "NumPDBViolations": 0}));
        }
    }
    let pod = pod("team-a", "store", 9);
    let body = json!({"Pod": pod, "NodeNameToVictims": null, "NodeNameToMetaVictims": victims}).to_string();
    let mut expected: Option<Value> = None;
    repeat(
        stage,
        "preempt",
        |_| Duration::from_millis(250),
        |client, _| {
            let reply = ask(client, "/preempt", &body)?;
            let kept = reply["NodeNameToMetaVictims"].as_object().context("no candidates in the reply")?;
            ensure!(!kept.is_empty() && kept.values().all(|victims| !victims.is_null()), "{reply}");
            ensure!(*expected.get_or_insert_with(|| reply.clone()) == reply, "another answer than before: {reply}");
            Ok(Done)
        },
    );
}
