//! A scheduler whose pods need a part of a GPU: filter, prioritize, bind, and later their end.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use plimsoll_harness::Client;
use plimsoll_random::Random;
use plimsoll_sample::pod;
use serde_json::{Value, json};

use super::{
    requests::{all_names, ask, by_name, filter, prioritize},
    steps::repeat,
};
use crate::{
    stage::Stage,
    tally::Outcome::{self, Declined, Done},
};

const EVERY: Duration = Duration::from_millis(300);

/// The number of its pods that run at one time.
const RUNNING: usize = 40;

/// Of each device of the sample cluster, in GiB.
const DEVICE: u64 = 16;

const DEVICE_KEY: &str = "example.com/gpu-device";
const MEMORY_KEY: &str = "example.com/gpu-mem";

pub(super) fn run(stage: &Stage, scheduler: &str, number: u64) {
    let mut random = Random::new(stage.seed + number);
    let mut running: VecDeque<String> = VecDeque::new();
    repeat(
        stage,
        "bind",
        |_| EVERY,
        |client, number| {
            let name = format!("{scheduler}-{number}");
            let pod = gpu_pod(&name, 1 + random.below(4));
            stage.api.put_pod(pod.clone());
            let outcome = place(stage, client, &pod, &mut random);
            running.push_back(name);
            // A pod that was not bound is the one to end.
            let ending = match &outcome {
                Ok(Done) if running.len() <= RUNNING => None,
                Ok(Done) => running.pop_front(),
                Ok(Declined(_)) | Err(_) => running.pop_back(),
            };
            if let Some(name) = ending {
                stage.api.delete_pod("ml", &name);
            }
            outcome
        },
    );
}

fn gpu_pod(name: &str, gib: u64) -> Value {
    let mut pod = pod("ml", "train", 0);
    let size = format!("{gib}Gi");
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["uid"] = format!("30000000-0000-4000-8000-{name}").into();
    pod["metadata"]["annotations"][MEMORY_KEY] = size.clone().into();
    for kind in ["requests", "limits"] {
        pod["spec"]["containers"][0]["resources"][kind][MEMORY_KEY] = size.clone().into();
    }
    pod
}

fn place(stage: &Stage, client: &mut Client, pod: &Value, random: &mut Random) -> Result<Outcome> {
    let names = all_names();
    let kept = filter(client, "/filter", &by_name(pod, &names), &names)?.kept;
    ensure!(kept.iter().all(|name| name.as_str() >= "node-160"), "a node without a GPU stays: {kept:?}");
    if kept.is_empty() {
        return Ok(Declined("no device has room"));
    }
    let scores = prioritize(client, &by_name(pod, &kept), &kept)?;
    let best = scores.iter().max();
    let equals: Vec<&String> =
        kept.iter().zip(&scores).filter(|(_, score)| Some(*score) == best).map(|(name, _)| name).collect();
    let node = random.pick(&equals);
    let metadata = &pod["metadata"];
    let body = json!({"PodName": metadata["name"], "PodNamespace": "ml", "PodUID": metadata["uid"], "Node": node});
    // Trouble that ends while the bind is under way excuses it as well.
    let trouble_before = stage.is_in_trouble();
    let reply = ask(client, "/bind", &body.to_string())?;
    match reply["Error"].as_str().context("a reply without Error")? {
        "" => is_bound(stage, pod, node).map(|()| Done),
        error if error.starts_with("gpu-binpack: ") => Ok(Declined("another pod got the device")),
        _ if trouble_before || stage.is_in_trouble() => Ok(Declined("the API server was away")),
        error => bail!("not bound: {error}"),
    }
}

/// The pod is where plimsoll says, with a device; and no device has more than it can hold.
fn is_bound(stage: &Stage, pod: &Value, node: &str) -> Result<()> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let bound = stage.api.pod("ml", name).context("a pod that is bound does not exist")?;
    ensure!(bound["spec"]["nodeName"] == node, "said to be bound to {node}: {bound}");
    ensure!(bound["metadata"]["annotations"][DEVICE_KEY].is_string(), "bound without a device: {bound}");
    let mut used = BTreeMap::<String, u64>::new();
    stage.api.each_placed_pod(|other| {
        let annotations = &other["metadata"]["annotations"];
        if other["spec"]["nodeName"] == node
            && let Some(device) = annotations[DEVICE_KEY].as_str()
        {
            *used.entry(device.to_owned()).or_default() += gib(&annotations[MEMORY_KEY]);
        }
    });
    ensure!(used.values().all(|used| *used <= DEVICE), "a device of {node} was given out twice: {used:?} GiB in use");
    Ok(())
}

/// `6Gi`, or as many bytes.
fn gib(amount: &Value) -> u64 {
    let text = amount.as_str().unwrap_or_default();
    let bytes = || text.parse::<u64>().map(|bytes| bytes >> 30).ok();
    text.strip_suffix("Gi").and_then(|gib| gib.parse().ok()).or_else(bytes).unwrap_or(0)
}
