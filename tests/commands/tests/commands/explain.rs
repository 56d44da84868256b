//! `plimsoll explain`, `plimsoll table` and `plimsoll check --purity`: what a policy reads, and what it makes of it.

use std::fs;

use plimsoll_harness::{policies, tempdir};
use serde_json::{Value, json};

use crate::{POD, run, text};

fn answers<'r>(report: &'r Value, policy: &str) -> &'r Value {
    let answers = report["answers"].as_array().unwrap();
    answers.iter().find(|answer| answer["policy"] == policy).unwrap()
}

#[test]
fn explain_prints_every_read_with_its_value_and_the_verdict() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let on =
        ["--no-compile-cache", "--sample", "--policies", text(policies()), "--pod", text(&pod), "--node", "node-000"];
    let printed = run(&[&["explain", "--output", "json"], &on[..]].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let filter = answers(&report, "tenant-pool");
    assert_eq!((&filter["answer"], &filter["cached"]), (&json!({"verdict": "fits"}), &json!(true)));
    let label = json!({"read": "node.label(\"example.com/pool\")", "value": "shared", "others": false});
    assert!(filter["reads"].as_array().unwrap().contains(&label), "{filter}");
    let told = run(&[&["run", "--explain", "--output", "json"], &on[..]].concat());
    let mut told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(report["cluster"]["source"], "sample");
    for key in ["cluster", "group"] {
        told["explanations"][0][key] = told[key].clone();
    }
    assert_eq!(told["explanations"][0], report);
}

#[test]
fn explain_and_a_refusal_do_not_tell_what_looks_like_a_secret() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let policies_of = |settings: &str| {
        let of = tempdir().unwrap();
        fs::copy(policies().join("tenant-pool.wasm"), of.path().join("tenant-pool.wasm")).unwrap();
        fs::write(of.path().join("tenant-pool.yaml"), format!("settings: {settings}\n")).unwrap();
        of
    };
    let explain = |of: &std::path::Path| {
        run(&[
            "explain",
            "--no-compile-cache",
            "--sample",
            "--policies",
            text(of),
            "--pod",
            text(&pod),
            "--node",
            "node-000",
        ])
    };
    let good = policies_of("{pools: {team-a: pool-a, secret-team: hunter2-hunter2}}");
    let printed = explain(good.path());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.out.contains(r#""team-a":"pool-a""#) && printed.out.contains("<not shown>"), "{}", printed.out);
    assert!(!printed.out.contains("hunter2"), "{}", printed.out);
    // The policy's own words quote the pool that is shared.
    let bad = policies_of("{pools: {secret-team: hunter2-hunter2}, shared: [hunter2-hunter2]}");
    let printed = explain(bad.path());
    assert!(printed.err.contains("the pool '<not shown>' is shared"), "{printed:?}");
    assert!(!printed.err.contains("hunter2"), "{}", printed.err);
}

#[test]
fn explain_says_which_node_the_cluster_does_not_have() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let args = [
        "explain",
        "--no-compile-cache",
        "--sample",
        "--policies",
        text(policies()),
        "--pod",
        text(&pod),
        "--node",
        "absent",
    ];
    let printed = run(&args);
    assert_eq!(printed.code, Some(2));
    assert!(printed.err.contains("the cluster has no node 'absent'"), "{}", printed.err);
}

#[test]
fn table_merges_values_that_lead_to_the_same_answer() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let args =
        ["table", "tenant-pool", "--no-compile-cache", "--sample", "--policies", text(policies()), "--pod", text(&pod)];
    let printed = run(&[&args[..], &["--output", "json"]].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    let fits: Vec<&Value> = rows.iter().filter(|row| row["then"] == json!({"verdict": "fits"})).collect();
    let [row] = fits.as_slice() else { panic!("{report:#}") };
    let pools = row["if"].as_array().unwrap().last().unwrap();
    assert_eq!(pools["values"], json!(["shared", "team-a"]), "{report:#}");
}

#[test]
fn check_tells_whether_answers_depend_on_their_order() {
    let sidecar = policies().join("tenant-pool.yaml");
    let printed = run(&["check", "--purity", "--no-compile-cache", text(&sidecar)]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.out.contains("filter: the same in any order; its answers are cached"), "{}", printed.out);
}

#[test]
fn check_says_of_each_policy_what_its_purity_is() {
    let at = |name: &str| policies().join(name);
    let purity = |module: &str| run(&["check", "--purity", "--no-compile-cache", text(&at(module))]).out;
    let rank = purity("zone-spread.wasm");
    assert!(rank.contains("purity   rank: the same when asked again; ranks are not cached"), "{rank}");
    let preempt = purity("preempt-guard.wasm");
    assert!(preempt.contains("purity   nothing to compare: it has neither filter, score nor rank"), "{preempt}");
}

#[test]
fn explain_lists_a_read_of_many_other_nodes_ten_times() {
    let directory = tempdir().unwrap();
    let (pod, folder) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::write(&pod, POD).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::copy(policies().join("zone-spread.wasm"), folder.join("zone-spread.wasm")).unwrap();
    let about = ["--no-compile-cache", "--sample", "--policies", text(&folder), "--pod", text(&pod)];
    let printed = run(&[&["explain", "--node", "node-170"][..], &about].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let of_others = printed.out.lines().filter(|line| line.contains("(of node "));
    let mut by_read = std::collections::BTreeMap::<&str, usize>::new();
    of_others.for_each(|line| *by_read.entry(line.trim_start().split("  ").next().unwrap()).or_default() += 1);
    assert!(!by_read.is_empty() && by_read.values().all(|count| (10..=11).contains(count)), "{}", printed.out);
    assert!(printed.out.contains(" more of other nodes (--output json has all)"), "{}", printed.out);
}
