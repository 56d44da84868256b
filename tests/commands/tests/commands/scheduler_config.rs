//! `plimsoll scheduler-config`.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, matches_golden, plimsoll, plimsoll_with};
use plimsoll_harness::{TempDir, guest, policies, tempdir};
use serde_json::{Value, json};

use crate::{run, text};

#[test]
fn scheduler_config_has_the_verbs_that_the_policies_have() {
    let printed = run(&["scheduler-config", "--no-compile-cache", "--policies", text(policies())]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("scheduler-config.yaml", &printed.out).unwrap();
}

/// `$KUBECONFIG` is the operator's, and may be a list; the file is for the scheduler's machine.
#[test]
fn the_kubeconfig_of_the_environment_is_not_written_into_the_file() {
    let directory = binders(&[("b", "enforce")]);
    let print = |more: &[&str]| {
        let args = ["scheduler-config", "--no-compile-cache", "--output", "json", "--policies", "."];
        let environment = [("KUBECONFIG", "/home/me/a:/home/me/b"), ("PLIMSOLL_KUBECONFIG", "/home/me/a")];
        let printed = plimsoll_with(directory.path(), &environment, &[&args, more].concat()).unwrap();
        serde_json::from_str::<Value>(&printed.out).unwrap()["clientConnection"]["kubeconfig"].clone()
    };
    assert_eq!(print(&[]), Value::Null);
    assert_eq!(print(&["--kubeconfig", "/etc/scheduler.conf"]), "/etc/scheduler.conf");
}

#[test]
fn scheduler_config_has_one_extender_for_each_group() {
    let directory = tempdir().unwrap();
    let group = directory.path().join("gpu");
    fs::create_dir(&group).unwrap();
    fs::copy(policies().join("gpu-binpack.wasm"), group.join("gpu-binpack.wasm")).unwrap();
    fs::write(group.join("gpu-binpack.yaml"), "match: {resources: [example.com/gpu-mem]}\n").unwrap();
    let args = ["scheduler-config", "--no-compile-cache", "--full-nodes", "--output", "json", "--policies", "."];
    let printed = plimsoll(directory.path(), &args).unwrap();
    let config: Value = serde_json::from_str(&printed.out).unwrap();
    let extender = &config["extenders"][0];
    assert_eq!(extender["urlPrefix"], "http://127.0.0.1:8888/gpu");
    assert_eq!(extender["nodeCacheCapable"], false);
    assert_eq!(extender["managedResources"][0]["name"], "example.com/gpu-mem");
    // By whole nodes plimsoll need not see the cluster, and then it cannot bind.
    assert!(extender.get("bindVerb").is_none(), "{extender}");
    assert!(printed.err.contains("treats every node as empty in its own scores"), "{printed:?}");
}

/// A directory with `gpu-binpack` in these groups, each with a mode.
fn binders(groups: &[(&str, &str)]) -> TempDir {
    let directory = tempdir().unwrap();
    for (group, mode) in groups {
        let group = directory.path().join(group);
        fs::create_dir_all(&group).unwrap();
        fs::copy(policies().join("gpu-binpack.wasm"), group.join("gpu-binpack.wasm")).unwrap();
        fs::write(group.join("gpu-binpack.yaml"), format!("mode: {mode}\n")).unwrap();
    }
    directory
}

#[test]
fn one_group_binds_and_its_policies_in_shadow_do_not() {
    let directory = binders(&[("a", "shadow"), ("b", "enforce"), ("c", "off")]);
    let args = ["scheduler-config", "--no-compile-cache", "--output", "json", "--policies", "."];
    let printed = plimsoll(directory.path(), &args).unwrap();
    let config: Value = serde_json::from_str(&printed.out).unwrap();
    let bind: Vec<Option<&str>> =
        config["extenders"].as_array().unwrap().iter().map(|extender| extender["bindVerb"].as_str()).collect();
    assert_eq!(bind, [None, Some("bind")]);
}

#[test]
fn a_bind_verb_that_nobody_may_use_is_remarked_on() {
    let directory = binders(&[("b", "enforce")]);
    let remarks = |args: &[&str]| {
        let printed = print(directory.path(), args);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        printed.err.contains("no pod is bound: without a client certificate nobody may bind at")
    };
    assert!(remarks(&["--url", "http://plimsoll.plimsoll.svc:8888"]));
    assert!(remarks(&["--url", "https://10.0.0.1:8888", "--ca-file", "/ca.crt"]));
    let pair = ["--cert-file", "/tls.crt", "--key-file", "/tls.key"];
    assert!(!remarks(&[&["--url", "https://10.0.0.1:8888"], &pair[..]].concat()));
    for local in ["http://127.0.0.1:8888", "http://[::1]:8888/", "http://localhost:1"] {
        assert!(!remarks(&["--url", local]), "{local}");
    }
    assert!(!remarks(&["--url", "http://10.0.0.1:8888", "--no-bind"]));
}

#[test]
fn two_groups_that_bind_are_refused_by_name() {
    let directory = binders(&[("a", "enforce"), ("b", "enforce")]);
    let printed = plimsoll(directory.path(), &["scheduler-config", "--no-compile-cache", "--policies", "."]).unwrap();
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert!(printed.err.contains("a/gpu-binpack and b/gpu-binpack bind, in two groups"), "{printed:?}");
    // Where plimsoll may not bind, they are none of kube-scheduler's business.
    let printed =
        plimsoll(directory.path(), &["scheduler-config", "--no-compile-cache", "--policies", ".", "--no-bind"])
            .unwrap();
    assert!(printed.code == Some(0) && !printed.out.contains("bindVerb"), "{printed:?}");
}

/// A group with a filter that counts, and nothing else.
fn lay_counting(directory: &Path, group: &str) {
    let folder = directory.join(group);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(guest("at_most"), folder.join("at-most.wasm")).unwrap();
    fs::write(folder.join("at-most.yaml"), "settings: {label: app, on_node: 4}\n").unwrap();
}

#[test]
fn a_group_whose_filter_counts_binds_where_it_can_and_the_command_says_where_it_cannot() {
    let directory = tempdir().unwrap();
    lay_counting(directory.path(), "b");
    let binds = |args: &[&str]| {
        let printed = print(directory.path(), args);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let lines = printed.out.lines().filter(|line| line.contains("bindVerb")).count();
        let remark = printed.err.lines().find(|line| line.contains("can pass their limits")).map(ToOwned::to_owned);
        (lines, remark.unwrap_or_default())
    };
    assert_eq!(binds(&[]), (1, String::new()));
    let at_most =
        "filters that count pods (b/at-most): pods that are bound at the same time can pass their limits, since";
    for (args, why) in [
        (&["--no-bind"][..], "this configuration has no bindVerb"),
        (&["--full-nodes"], "this configuration has no bindVerb"),
        (&["--url", "http://plimsoll:8888"], "without a client certificate nobody may bind at http://plimsoll:8888"),
    ] {
        let (lines, remark) = binds(args);
        assert!(lines == 0 && remark.contains(&format!("{at_most} {why}")), "{args:?}: {remark}");
    }
    // Of two groups whose filters count the first binds; one with a policy that binds goes before both.
    lay_counting(directory.path(), "c");
    let printed = print(directory.path(), &[]);
    let refused = "group b and group c both have filters that count pods";
    assert!(printed.code == Some(2) && printed.err.contains(refused), "{printed:?}");
    let no_places = |file: &str| {
        let text = fs::read_to_string(directory.path().join(file)).unwrap();
        fs::write(directory.path().join(file), format!("places: none\n{text}")).unwrap();
    };
    no_places("c/at-most.yaml");
    let (lines, remark) = binds(&[]);
    assert!(lines == 1 && remark.contains("(c/at-most)") && remark.contains("which is another group's"), "{remark}");
    let (_, remark) = binds(&["--no-bind"]);
    assert!(remark.ends_with(", and gangs can be bound in part"), "{remark}");
    let printed = print(directory.path(), &[]).out;
    let at = |group: &str| printed.find(&format!("8888/{group}"));
    assert!(at("c").is_some() && at("c") < at("b"), "no extender may refuse the one node that b leaves: {printed}");
    lay_group(directory.path(), "z", "gpu-binpack", "example.com/gpu");
    no_places("z/gpu-binpack.yaml");
    let (lines, remark) = binds(&[]);
    assert!(lines == 1 && remark.contains("(b/at-most, c/at-most)"), "{remark}");
}

/// A group with one policy that asks for a resource; `gpu-binpack` has a bind, `zone-spread` has not.
fn lay_group(directory: &Path, name: &str, policy: &str, resource: &str) {
    let group = directory.join(name);
    fs::create_dir(&group).unwrap();
    fs::copy(policies().join(format!("{policy}.wasm")), group.join(format!("{policy}.wasm"))).unwrap();
    fs::write(group.join(format!("{policy}.yaml")), format!("match: {{resources: [{resource}]}}\n")).unwrap();
}

fn print(directory: &Path, args: &[&str]) -> Printed {
    plimsoll(directory, &[&["scheduler-config", "--no-compile-cache", "--policies", "."], args].concat()).unwrap()
}

fn json(printed: &Printed) -> Value {
    assert_eq!(printed.code, Some(0), "{printed:?}");
    serde_json::from_str(&printed.out).unwrap()
}

const FLAGS: &str = "--url https://plimsoll.kube-system.svc:8888 --ca-file /etc/kubernetes/plimsoll/ca.crt \
    --cert-file /etc/kubernetes/plimsoll/tls.crt --key-file /etc/kubernetes/plimsoll/tls.key --server-name plimsoll.test \
    --profile default-scheduler,batch --profile gpu --kubeconfig /etc/scheduler.conf \
    --ignored-by-scheduler example.com/gpu-mem --ignorable";

#[test]
fn every_option_has_its_place_in_the_configuration() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    lay_group(directory.path(), "licences", "zone-spread", "example.com/licence");
    let printed = print(directory.path(), &FLAGS.split_whitespace().collect::<Vec<_>>());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.err.contains("replaces the ignoredResources of your own NodeResourcesFitArgs"), "{printed:?}");
    matches_golden("scheduler-config-full.yaml", &printed.out).unwrap();
}

#[test]
fn fine_scores_come_with_weights_that_keep_every_influence() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    lay_group(directory.path(), "licences", "zone-spread", "example.com/licence");
    let printed = print(directory.path(), &["--fine-scores", "gpu", "--weight", "2"]);
    assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{printed:?}");
    matches_golden("scheduler-config-fine.yaml", &printed.out).unwrap();

    // Scales that differ have one factor: that of the finest.
    let args = ["--fine-scores", "gpu=name", "--fine-scores", "licences", "--profile", "a,b", "--output", "json"];
    let config = json(&print(directory.path(), &args));
    let extender = |at: usize| {
        let extender = &config["extenders"][at];
        (extender["prioritizeVerb"].as_str().unwrap(), extender["weight"].as_u64().unwrap())
    };
    assert_eq!((extender(0), extender(1)), (("prioritize-fine", 100_000), ("prioritize-fine-by-name", 1)));
    for (at, name) in ["a", "b"].into_iter().enumerate() {
        let profile = &config["profiles"][at];
        assert_eq!(profile["schedulerName"], name);
        let first = &profile["plugins"]["multiPoint"]["enabled"][0];
        assert_eq!(first, &json!({"name": "TaintToleration", "weight": 300_000_000}));
    }
}

#[test]
fn fine_scores_that_cannot_be_are_refused_with_what_is_expected() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    for (args, error) in [
        (
            &["--fine-scores", "cpu=name"][..],
            "--fine-scores cpu: expected a group with a policy that scores; there is gpu",
        ),
        (&["--fine-scores", "gpu,gpu=name"], "--fine-scores names the group gpu twice: choose one"),
    ] {
        let printed = print(directory.path(), args);
        assert_eq!((printed.code, printed.err), (Some(2), format!("plimsoll: {error}\n")), "{args:?}");
    }
    let printed = print(directory.path(), &["--fine-scores", "gpu=random"]);
    assert!(printed.err.contains("expected GROUP, GROUP=name or GROUP=spread; the root is /"), "{printed:?}");
}

#[test]
fn a_resource_is_managed_by_one_extender_only() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    lay_group(directory.path(), "a-spread", "zone-spread", "example.com/gpu-mem");
    let printed = print(directory.path(), &["--output", "json"]);
    let config = json(&printed);
    // It stays with the one that binds, which must bind no other pods.
    assert_eq!(config["extenders"][0]["urlPrefix"], "http://127.0.0.1:8888/a-spread");
    assert!(config["extenders"][0].get("managedResources").is_none(), "{config}");
    assert_eq!(config["extenders"][1]["managedResources"][0]["name"], "example.com/gpu-mem");
    let remark = "plimsoll: example.com/gpu-mem is managed by http://127.0.0.1:8888/gpu: \
        http://127.0.0.1:8888/a-spread is called for every pod\n";
    assert_eq!(printed.err, remark);
}

#[test]
fn pods_of_groups_are_preempted_by_an_ignorable_extender_apart() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    fs::copy(policies().join("preempt-guard.wasm"), directory.path().join("preempt-guard.wasm")).unwrap();
    let config = json(&print(directory.path(), &["--pod-groups", "--output", "json"]));
    let of = |extender: &Value| {
        let resources = &extender["managedResources"][0]["name"];
        json!([extender["filterVerb"], extender["bindVerb"], extender["preemptVerb"], extender["ignorable"], resources])
    };
    let extenders: Vec<Value> = config["extenders"].as_array().unwrap().iter().map(of).collect();
    let apart = json!([null, null, "preempt-pod-groups", true, null]);
    assert_eq!(extenders, [json!(["filter", "bind", null, false, "example.com/gpu-mem"]), apart.clone(), apart]);
    assert_eq!(config["extenders"][2]["urlPrefix"], "http://127.0.0.1:8888/gpu");
}

#[test]
fn a_group_with_a_policy_for_every_pod_manages_no_resource() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    fs::copy(policies().join("gpu-binpack.wasm"), directory.path().join("gpu/other.wasm")).unwrap();
    let config = json(&print(directory.path(), &["--output", "json"]));
    assert!(config["extenders"][0].get("managedResources").is_none(), "{config}");
    let printed = print(directory.path(), &["--ignored-by-scheduler", "example.com/gpu-mem"]);
    assert_eq!(printed.code, Some(2));
    assert!(printed.err.starts_with("plimsoll: --ignored-by-scheduler example.com/gpu-mem: no group manages it"));
}

#[test]
fn certificates_want_an_https_url_and_a_url_alone_turns_no_check_off() {
    let directory = tempdir().unwrap();
    lay_group(directory.path(), "gpu", "gpu-binpack", "example.com/gpu-mem");
    let printed = print(directory.path(), &["--ca-file", "/ca.crt"]);
    assert_eq!(printed.code, Some(2));
    assert!(printed.err.contains("begins with https://"), "{printed:?}");
    let config = json(&print(directory.path(), &["--url", "https://a:1", "--server-name", "b", "--output", "json"]));
    let extender = &config["extenders"][0];
    assert_eq!(extender["tlsConfig"], json!({"serverName": "b"}));
    assert!(extender.get("enableHTTPS").is_none(), "{extender}");
}
