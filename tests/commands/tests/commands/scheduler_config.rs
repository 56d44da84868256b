//! `plimsoll scheduler-config`.

use std::fs;

use plimsoll_commands::{matches_golden, plimsoll};
use plimsoll_harness::{policies, tempdir};
use serde_json::Value;

use crate::{run, text};

#[test]
fn scheduler_config_has_the_verbs_that_the_policies_have() {
    let printed = run(&["scheduler-config", "--no-cache", "--policies", text(policies())]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("scheduler-config.yaml", &printed.out).unwrap();
}

#[test]
fn scheduler_config_has_one_extender_for_each_group() {
    let directory = tempdir().unwrap();
    let group = directory.path().join("gpu");
    fs::create_dir(&group).unwrap();
    fs::copy(policies().join("gpu-binpack.wasm"), group.join("gpu-binpack.wasm")).unwrap();
    fs::write(group.join("gpu-binpack.yaml"), "match: {resources: [example.com/gpu-mem]}\n").unwrap();
    let args = ["scheduler-config", "--no-cache", "--full-nodes", "--output", "json", "--policies", "."];
    let printed = plimsoll(directory.path(), &args).unwrap();
    let config: Value = serde_json::from_str(&printed.out).unwrap();
    let extender = &config["extenders"][0];
    assert_eq!(extender["urlPrefix"], "http://127.0.0.1:8888/gpu");
    assert_eq!(extender["nodeCacheCapable"], false);
    assert_eq!(extender["managedResources"][0]["name"], "example.com/gpu-mem");
}

#[test]
fn the_second_scheduler_has_the_extenders_that_the_command_prints() {
    let policies = text(policies());
    let printed =
        run(&["scheduler-config", "--no-cache", "--policies", policies, "--url", "http://plimsoll.plimsoll.svc:8888"]);
    let (_, extenders) = printed.out.split_once("\nextenders:\n").unwrap();
    let file = fs::read_to_string(plimsoll_harness::workspace().join("deploy/kube-scheduler.yaml")).unwrap();
    assert!(
        file.ends_with(&format!("\nextenders:\n{extenders}")),
        "deploy/kube-scheduler.yaml does not end with\n{extenders}"
    );
}
